-- Fills one member's access record and the group's own, if the lease they were loaded under still stands.
-- KEYS[1] the group's access hash
-- ARGV[1] uid  [2] the lease's token  [3] the member's record and [4] the group's, both without load time and run id
--   [5] life of the hash from its first fill on, seconds
-- Replies: FILLED
--          REFUSED  the group was changed since, or somebody else filled: what was loaded may be old
local field = '?' .. ARGV[1]
if redis.call('HGET', KEYS[1], field) ~= ARGV[2] then
  return 'REFUSED'
end
local time = redis.call('TIME')
local now_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local first = redis.call('HEXISTS', KEYS[1], '#') == 0
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. '|' .. now_ms, '#', ARGV[4] .. '|' .. now_ms .. '|' .. run_id)
redis.call('HDEL', KEYS[1], field)
if first then
  -- Later fills do not extend it: records of those who have gone quiet must go, too.
  redis.call('EXPIRE', KEYS[1], ARGV[5])
end
return 'FILLED'
