-- Raise: the last step of a rebase; the counter goes on in a new epoch.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline
-- KEYS[4] hot_msgs   KEYS[5] hot_meta
-- ARGV[1] run id that the rebase began under   ARGV[2] new epoch   ARGV[3] highest stored seq
-- Replies: RAISED  |  KEPT the counter is already there or further on  |  OTHER_SERVER begin again
--@include doubt
--@include hot

if server_run_id() ~= ARGV[1] then return { 'OTHER_SERVER' } end
local epoch = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '')
if epoch and epoch >= tonumber(ARGV[2]) then return { 'KEPT' } end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
-- The hot set goes; changes that are under way stay noted.
hot_drop(KEYS[4], KEYS[5])
if redis.call('EXISTS', KEYS[5]) == 1 then redis.call('HINCRBY', KEYS[5], 'generation', 1) end
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'seq', ARGV[3], 'entries', 0, 'run_id', ARGV[1])
return { 'RAISED' }
