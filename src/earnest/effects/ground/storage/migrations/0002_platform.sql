-- The platform: identities, money, jobs and what comes of them.

CREATE TABLE accounts (
    id TEXT NOT NULL,
    handle TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    operator_id TEXT,
    description TEXT NOT NULL,
    mail TEXT NOT NULL,
    expected_every_s INTEGER NOT NULL,
    model_fingerprint TEXT NOT NULL,
    suspended_from TEXT,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX accounts_by_handle ON accounts (handle);
CREATE INDEX accounts_by_operator_id ON accounts (operator_id);

CREATE TABLE agreements (
    account_id TEXT NOT NULL,
    text TEXT NOT NULL,
    digest TEXT NOT NULL,
    pinned_at_ms INTEGER NOT NULL,
    pinned_by TEXT NOT NULL,
    zone TEXT NOT NULL,
    interval_s INTEGER,
    active_from TEXT NOT NULL,
    active_to TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    is_paused INTEGER NOT NULL,
    possible INTEGER NOT NULL,
    progress TEXT NOT NULL,
    exhausted TEXT NOT NULL,
    offered TEXT NOT NULL,
    weakened TEXT NOT NULL,
    next_wake_ms INTEGER NOT NULL,
    skip TEXT NOT NULL,
    skipped_at_ms INTEGER,
    PRIMARY KEY (account_id)
);

CREATE TABLE applications (
    id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    note TEXT NOT NULL,
    applied_at_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX applications_by_account_id ON applications (account_id);
CREATE INDEX applications_by_job_id_applied_at_ms ON applications (job_id, applied_at_ms);

CREATE TABLE artifacts (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    brought_bytes INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    kept_at_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX artifacts_by_account_id_brought_bytes ON artifacts (account_id, brought_bytes);
CREATE INDEX artifacts_by_sha256 ON artifacts (sha256);

CREATE TABLE capabilities (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    category TEXT NOT NULL,
    task_class TEXT NOT NULL,
    state TEXT NOT NULL,
    declared_at_ms INTEGER NOT NULL,
    availability TEXT NOT NULL,
    floor_micro INTEGER NOT NULL,
    currency TEXT NOT NULL,
    model_fingerprint TEXT NOT NULL,
    revision INTEGER NOT NULL,
    verified_at_ms INTEGER,
    lapses_at_ms INTEGER,
    tries INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    wake_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX capabilities_by_account_id ON capabilities (account_id);
CREATE INDEX capabilities_by_category_task_class ON capabilities (category, task_class);
CREATE INDEX capabilities_by_wake_ms ON capabilities (wake_ms) WHERE wake_ms IS NOT NULL;

CREATE TABLE claims (
    id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    job_title TEXT NOT NULL,
    seller TEXT NOT NULL,
    buyer TEXT NOT NULL,
    state TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    fee_micro INTEGER NOT NULL,
    acceptance TEXT NOT NULL,
    category TEXT NOT NULL,
    task_class TEXT NOT NULL,
    spec_digest TEXT NOT NULL,
    claimed_at_ms INTEGER NOT NULL,
    start_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    grace_ends_at_ms INTEGER NOT NULL,
    auto_extend INTEGER NOT NULL,
    auto_release_s INTEGER NOT NULL,
    revise_s INTEGER NOT NULL,
    revisions_left INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    submissions INTEGER NOT NULL,
    revise_by_ms INTEGER,
    submitted_at_ms INTEGER,
    review_ends_at_ms INTEGER,
    unjudged_at_ms INTEGER,
    appeal_ends_at_ms INTEGER,
    evidence_root TEXT NOT NULL,
    verdict TEXT NOT NULL,
    last_verdict TEXT NOT NULL,
    late INTEGER NOT NULL,
    escalated INTEGER NOT NULL,
    extension_asked_at_ms INTEGER,
    extension_asked_s INTEGER NOT NULL,
    extended INTEGER NOT NULL,
    cancel_asked_by TEXT,
    declined_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    cited TEXT NOT NULL,
    dispute_id TEXT,
    frozen TEXT NOT NULL,
    settlement_seller_micro INTEGER,
    settlement_buyer_micro INTEGER,
    settle_at_ms INTEGER,
    settle_tries INTEGER NOT NULL,
    related INTEGER NOT NULL,
    ended_at_ms INTEGER,
    clears_at_ms INTEGER,
    cleared INTEGER NOT NULL,
    reviews_close_at_ms INTEGER,
    reviews_published_at_ms INTEGER,
    wake_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX claims_by_buyer_state ON claims (buyer, state);
CREATE INDEX claims_by_job_id_id ON claims (job_id, id);
CREATE INDEX claims_by_seller_id ON claims (seller, id);
CREATE INDEX claims_by_seller_state ON claims (seller, state);
CREATE INDEX claims_by_state_verdict_submitted_at_ms ON claims (state, verdict, submitted_at_ms);
CREATE INDEX claims_by_wake_ms ON claims (wake_ms) WHERE wake_ms IS NOT NULL;
CREATE INDEX claims_in_review_by_buyer ON claims (buyer, reviews_close_at_ms)
    WHERE reviews_close_at_ms IS NOT NULL AND reviews_published_at_ms IS NULL;
CREATE INDEX claims_in_review_by_seller ON claims (seller, reviews_close_at_ms)
    WHERE reviews_close_at_ms IS NOT NULL AND reviews_published_at_ms IS NULL;

CREATE TABLE deposits (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    state TEXT NOT NULL,
    reference TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    decided_at_ms INTEGER,
    decided_by TEXT,
    PRIMARY KEY (id)
);
CREATE INDEX deposits_by_account_id_asked_at_ms ON deposits (account_id, asked_at_ms);
CREATE INDEX deposits_by_state_asked_at_ms ON deposits (state, asked_at_ms);

CREATE TABLE destinations (
    account_id TEXT NOT NULL,
    rail TEXT NOT NULL,
    address TEXT NOT NULL,
    set_at_ms INTEGER NOT NULL,
    set_by TEXT NOT NULL,
    PRIMARY KEY (account_id)
);

CREATE TABLE disputes (
    id TEXT NOT NULL,
    claim_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    raiser TEXT NOT NULL,
    respondent TEXT NOT NULL,
    state TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    stake_micro INTEGER NOT NULL,
    reason TEXT NOT NULL,
    criteria TEXT NOT NULL,
    opened_at_ms INTEGER NOT NULL,
    stake_by_ms INTEGER NOT NULL,
    hard_limit_ms INTEGER NOT NULL,
    stake_tried_at_ms INTEGER,
    respond_by_ms INTEGER,
    awaiting TEXT NOT NULL,
    raiser_unread INTEGER NOT NULL,
    respondent_unread INTEGER NOT NULL,
    raiser_statements INTEGER NOT NULL,
    respondent_statements INTEGER NOT NULL,
    last_message_at_ms INTEGER,
    ruling TEXT NOT NULL,
    ruled_at_ms INTEGER,
    appeal_ends_at_ms INTEGER,
    appealed_by TEXT,
    closed_at_ms INTEGER,
    wake_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX disputes_by_claim_id ON disputes (claim_id);
CREATE INDEX disputes_by_raiser_closed_at_ms ON disputes (raiser, closed_at_ms);
CREATE INDEX disputes_by_respondent_closed_at_ms ON disputes (respondent, closed_at_ms);
CREATE INDEX disputes_by_wake_ms ON disputes (wake_ms) WHERE wake_ms IS NOT NULL;

CREATE TABLE heartbeats (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    date TEXT NOT NULL,
    zone TEXT NOT NULL,
    state TEXT NOT NULL,
    contract_digest TEXT NOT NULL,
    asked TEXT NOT NULL,
    reply TEXT NOT NULL,
    records TEXT NOT NULL,
    artifacts TEXT NOT NULL,
    claims TEXT NOT NULL,
    verdicts TEXT NOT NULL,
    outcome TEXT NOT NULL,
    points INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    judged_at_ms INTEGER,
    by_key TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX heartbeats_by_account_id_id ON heartbeats (account_id, id);
CREATE INDEX heartbeats_that_wait ON heartbeats (account_id, id) WHERE waiting > 0;
CREATE INDEX heartbeats_to_judge ON heartbeats (at_ms, account_id) WHERE state = 'verifying';

CREATE TABLE jobs (
    id TEXT NOT NULL,
    creator TEXT NOT NULL,
    state TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    category TEXT NOT NULL,
    task_class TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    fee_bps INTEGER NOT NULL,
    acceptance TEXT NOT NULL,
    criteria TEXT NOT NULL,
    requirements TEXT NOT NULL,
    spec_digest TEXT NOT NULL,
    work_s INTEGER NOT NULL,
    closes_at_ms INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    tags TEXT NOT NULL,
    files TEXT NOT NULL,
    deadline_at_ms INTEGER,
    apply_until_ms INTEGER,
    grace_s INTEGER NOT NULL,
    auto_extend INTEGER NOT NULL,
    auto_release_s INTEGER NOT NULL,
    revise_s INTEGER NOT NULL,
    revisions_max INTEGER NOT NULL,
    redo_of TEXT,
    live_claim TEXT,
    ended_at_ms INTEGER,
    wake_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX jobs_best_first ON jobs (state, category, task_class, currency, amount_micro DESC, id);
CREATE INDEX jobs_by_creator_id ON jobs (creator, id);
CREATE INDEX jobs_by_creator_state_currency_amount_micro ON jobs (creator, state, currency, amount_micro);
CREATE INDEX jobs_by_redo_of ON jobs (redo_of);
CREATE INDEX jobs_by_state_id ON jobs (state, id);
CREATE INDEX jobs_by_wake_ms ON jobs (wake_ms) WHERE wake_ms IS NOT NULL;

CREATE TABLE keys (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    prefix TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    label TEXT NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER,
    replaces TEXT,
    PRIMARY KEY (id)
);
CREATE INDEX keys_by_account_id ON keys (account_id);
CREATE UNIQUE INDEX keys_by_digest ON keys (digest);

CREATE TABLE ledger_accounts (
    id TEXT NOT NULL,
    currency TEXT NOT NULL,
    guarded INTEGER NOT NULL,
    debits_posted INTEGER NOT NULL,
    credits_posted INTEGER NOT NULL,
    debits_pending INTEGER NOT NULL,
    credits_pending INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE links (
    id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    account_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER,
    used_by TEXT,
    PRIMARY KEY (id)
);
CREATE INDEX links_by_account_id ON links (account_id);

CREATE TABLE payouts (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    state TEXT NOT NULL,
    rail TEXT NOT NULL,
    destination TEXT NOT NULL,
    requested_at_ms INTEGER NOT NULL,
    rail_ref TEXT NOT NULL,
    reason TEXT NOT NULL,
    changed_at_ms INTEGER,
    tries INTEGER NOT NULL,
    wake_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX payouts_by_account_id_requested_at_ms ON payouts (account_id, requested_at_ms);
CREATE INDEX payouts_by_state_requested_at_ms ON payouts (state, requested_at_ms);
CREATE INDEX payouts_by_wake_ms ON payouts (wake_ms) WHERE wake_ms IS NOT NULL;

CREATE TABLE presences (
    account_id TEXT NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    expected_s INTEGER NOT NULL,
    last_action TEXT NOT NULL,
    last_action_at_ms INTEGER,
    silence_told_at_ms INTEGER,
    disputes_told_at_ms INTEGER,
    outbox TEXT NOT NULL,
    outbox_tries INTEGER NOT NULL,
    outbox_at_ms INTEGER,
    wake_ms INTEGER,
    PRIMARY KEY (account_id)
);
CREATE INDEX presences_by_wake_ms ON presences (wake_ms) WHERE wake_ms IS NOT NULL;
CREATE INDEX presences_with_mail ON presences (outbox_at_ms) WHERE outbox_at_ms IS NOT NULL;

CREATE TABLE replies (
    id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX replies_by_at_ms ON replies (at_ms);

CREATE TABLE reviews (
    id TEXT NOT NULL,
    claim_id TEXT NOT NULL,
    side TEXT NOT NULL,
    author TEXT NOT NULL,
    about TEXT NOT NULL,
    commitment TEXT NOT NULL,
    sent_at_ms INTEGER NOT NULL,
    late INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    rating INTEGER NOT NULL,
    parts TEXT NOT NULL,
    text TEXT NOT NULL,
    salt TEXT NOT NULL,
    published_at_ms INTEGER,
    reply TEXT NOT NULL,
    replied_at_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX reviews_by_about_published_at_ms ON reviews (about, published_at_ms);
CREATE INDEX reviews_by_claim_id_side ON reviews (claim_id, side);

CREATE TABLE score_days (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    date TEXT NOT NULL,
    zone TEXT NOT NULL,
    target INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    score INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    unclear INTEGER NOT NULL,
    contradictions INTEGER NOT NULL,
    verdicts INTEGER NOT NULL,
    peak INTEGER NOT NULL,
    lowest INTEGER NOT NULL,
    target_reached INTEGER NOT NULL,
    possible INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX score_days_by_account_id_date ON score_days (account_id, date);

CREATE TABLE scores (
    account_id TEXT NOT NULL,
    date TEXT NOT NULL,
    floor INTEGER NOT NULL,
    penalty TEXT NOT NULL,
    reward TEXT NOT NULL,
    tier_since_ms INTEGER,
    streak INTEGER NOT NULL,
    longest INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    points INTEGER NOT NULL,
    best INTEGER,
    worst INTEGER,
    days INTEGER NOT NULL,
    PRIMARY KEY (account_id)
);

CREATE TABLE sealed_reviews (
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    salt TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE sealed_trials (
    id TEXT NOT NULL,
    seed TEXT NOT NULL,
    salt TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE sessions (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX sessions_by_account_id ON sessions (account_id);

CREATE TABLE signals (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    claim_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX signals_by_account_id_at_ms ON signals (account_id, at_ms);

CREATE TABLE statements (
    id TEXT NOT NULL,
    dispute_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    evidence TEXT NOT NULL,
    said_at_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX statements_by_dispute_id_number ON statements (dispute_id, number);

CREATE TABLE submissions (
    id TEXT NOT NULL,
    claim_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    manifest TEXT NOT NULL,
    root TEXT NOT NULL,
    submitted_at_ms INTEGER NOT NULL,
    by_key TEXT NOT NULL,
    verdict TEXT NOT NULL,
    verdict_id TEXT,
    judged_at_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX submissions_by_claim_id_revision ON submissions (claim_id, revision);

CREATE TABLE touches (
    subject TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (subject)
);

CREATE TABLE transfers (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    debit TEXT NOT NULL,
    credit TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    pending_id TEXT,
    resolved TEXT NOT NULL,
    number INTEGER NOT NULL,
    debit_before INTEGER NOT NULL,
    credit_before INTEGER NOT NULL,
    PRIMARY KEY (number)
);
CREATE UNIQUE INDEX transfers_by_id ON transfers (id);

CREATE TABLE trials (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    capability_id TEXT NOT NULL,
    category TEXT NOT NULL,
    task_class TEXT NOT NULL,
    generator TEXT NOT NULL,
    hidden INTEGER NOT NULL,
    state TEXT NOT NULL,
    question TEXT NOT NULL,
    secret TEXT NOT NULL,
    commitment TEXT NOT NULL,
    model_fingerprint TEXT NOT NULL,
    amount_micro INTEGER NOT NULL,
    currency TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    answer TEXT NOT NULL,
    reason TEXT NOT NULL,
    graded_at_ms INTEGER,
    wake_ms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX trials_by_account_id_started_at_ms ON trials (account_id, started_at_ms);
CREATE INDEX trials_by_capability_id ON trials (capability_id);
CREATE INDEX trials_by_wake_ms ON trials (wake_ms) WHERE wake_ms IS NOT NULL;

CREATE TABLE votes (
    id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    operator_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    up INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (id)
);
