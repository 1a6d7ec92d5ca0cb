-- Inspect: the first step of a rebase, read before any row is locked.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline
-- Reply: { runId, doubt or "", epoch or "-1", seq or "0" }
--@include doubt

local counter, doubt = read_counter(KEYS[1], KEYS[2], KEYS[3])
return { server_run_id(), doubt or '', counter and text(counter.epoch) or '-1', counter and text(counter.seq) or '0' }
