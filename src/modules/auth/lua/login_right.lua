-- Log-in, after the right password: ends the delays of its address, which does not count as one that failed and is a place
-- of the account from now on. The oldest places are forgotten.
-- KEYS[1] hash tries, free_at of account and address   KEYS[2] zset address→until when it counts (ms)
-- KEYS[3] zset address→when the account was last used from there (ms)
-- ARGV[1] address   ARGV[2] most places kept   ARGV[3] life of places, s
-- Replies: NOTED
redis.call('UNLINK', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
local time = redis.call('TIME')
redis.call('ZADD', KEYS[3], string.format('%.0f', tonumber(time[1]) * 1000), ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -tonumber(ARGV[2]) - 1)
redis.call('EXPIRE', KEYS[3], ARGV[3])
return 'NOTED'
