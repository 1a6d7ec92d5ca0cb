-- Head: how far a topic can be read for sure.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline
-- Replies:
--   HEAD stableSeq lastSeq doubt epoch    doubt is "" or "expired": the number in flight still bounds stableSeq
--   DOUBT doubt epoch                     nothing can be said; epoch "-1" when there is no counter
--@include doubt

local counter, doubt = read_counter(KEYS[1], KEYS[2], KEYS[3])
if doubt and doubt ~= 'expired' then return { 'DOUBT', doubt, counter and text(counter.epoch) or '-1' } end
return { 'HEAD', text(stable_seq(counter, KEYS[2])), text(counter.seq), doubt or '', text(counter.epoch) }
