-- The jobs of a rare category, among many of others.

CREATE INDEX jobs_by_state_category_id ON jobs (state, category, id);
