-- Hot, close: after a change was committed, or is known not to have been.
-- KEYS[1] hot_msgs   KEYS[2] hot_meta
-- ARGV[1] seq   ARGV[2] token of the change   ARGV[3] new copy "<version>:<JSON>", "" for none
-- ARGV[4] life of the set, s   ARGV[5] most members   ARGV[6] most bytes
-- Reply: CLOSED
--@include doubt
--@include hot

local run_id, now = server_run_id(), now_ms()
redis.call('HDEL', KEYS[2], 'open:' .. ARGV[2])
local generation = hot_state(KEYS[1], KEYS[2], run_id, now)
-- Whoever read rows before this must not fill them in any more.
if generation == '' then hot_begin(KEYS[2], run_id, ARGV[4]) else redis.call('HINCRBY', KEYS[2], 'generation', 1) end
hot_remove(KEYS[1], KEYS[2], ARGV[1])
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if ARGV[3] ~= '' and oldest[2] and tonumber(oldest[2]) <= tonumber(ARGV[1]) then
  hot_put(KEYS[1], KEYS[2], ARGV[1], ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6]))
end
return { 'CLOSED' }
