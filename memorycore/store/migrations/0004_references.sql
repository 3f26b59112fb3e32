-- A caller that sends its list again is recognised by its own references.
CREATE INDEX memory_by_ref ON memory_ref (ref);
