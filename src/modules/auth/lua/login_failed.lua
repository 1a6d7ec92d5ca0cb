-- Log-in, after the wrong password: the address counts among those that failed until the window has passed.
-- KEYS[1] zset address→until when it counts (ms)   ARGV[1] address   ARGV[2] window, s   ARGV[3] most addresses kept
-- Replies: NOTED
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
if known or redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2]) * 1000), ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return 'NOTED'
