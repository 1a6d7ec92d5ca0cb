-- Hot, open: before a message is changed. Its copy goes, and until the change is closed no page is served and none filled.
-- KEYS[1] hot_msgs   KEYS[2] hot_meta
-- ARGV[1] seq   ARGV[2] token of the change   ARGV[3] after how many ms an unclosed change drops the set   ARGV[4] life of the set, s
-- Reply: OPENED
--@include doubt
--@include hot

local run_id, now = server_run_id(), now_ms()
local generation = hot_state(KEYS[1], KEYS[2], run_id, now)
-- Noted even where there is no set: a reader could fill one with the old text before the change is committed.
if generation == '' then hot_begin(KEYS[2], run_id, ARGV[4]) end
hot_remove(KEYS[1], KEYS[2], ARGV[1])
redis.call('HSET', KEYS[2], 'open:' .. ARGV[2], text(now + tonumber(ARGV[3])))
redis.call('EXPIRE', KEYS[2], ARGV[4])
return { 'OPENED' }
