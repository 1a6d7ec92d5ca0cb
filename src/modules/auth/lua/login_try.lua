-- Log-in, before the password is looked at: counts one try of this account from this address and says whether it may go on.
-- Tries that run at the same time are counted before any of them has failed, and their addresses with them.
-- KEYS[1] hash tries, free_at (ms) of account and address   KEYS[2] zset address→until when it counts (ms)
-- KEYS[3] zset address→when the account was last used from there (ms)
-- ARGV[1] window, s   ARGV[2] tries without a delay   ARGV[3] longest delay, ms   ARGV[4] address
-- ARGV[5] how long a try may run, ms   ARGV[6] most addresses kept
-- Replies: { 'TRY', addresses that failed or are trying, this one not counted unless it failed before, 1 when the account
--   was used from here }  |  { 'WAIT', ms }  not counted
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
if redis.call('TYPE', KEYS[2]).ok ~= 'zset' then redis.call('DEL', KEYS[2]) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = redis.call('HMGET', KEYS[1], 'tries', 'free_at')
local longest = tonumber(ARGV[3])
-- After a clock that went back nobody waits longer than he would have.
local wait = math.min((tonumber(found[2]) or 0) - now, longest)
if wait > 0 then return { 'WAIT', wait } end
local tries = (tonumber(found[1]) or 0) + 1
local over = tries - tonumber(ARGV[2])
local delay = over < 0 and 0 or math.min(longest, 1000 * 2 ^ math.min(over, 20))
redis.call('HSET', KEYS[1], 'tries', tries, 'free_at', string.format('%.0f', now + delay))
redis.call('EXPIRE', KEYS[1], ARGV[1])

redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local addresses = redis.call('ZCARD', KEYS[2])
if addresses < tonumber(ARGV[6]) then
  redis.call('ZADD', KEYS[2], 'NX', string.format('%.0f', now + tonumber(ARGV[5])), ARGV[4])
end
redis.call('EXPIRE', KEYS[2], ARGV[1])
return { 'TRY', addresses, redis.call('ZSCORE', KEYS[3], ARGV[4]) and 1 or 0 }
