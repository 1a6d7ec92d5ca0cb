-- Log-in, before the password is looked at: counts one try of this account from this address and says whether it may go on.
-- Tries that run at the same time are counted before any of them has failed.
-- KEYS[1] hash tries, free_at (ms) of account and address   KEYS[2] HyperLogLog of the addresses that failed
-- ARGV[1] window, s   ARGV[2] tries without a delay   ARGV[3] longest delay, ms
-- Replies: { 'TRY', addresses that failed }  |  { 'WAIT', ms }  not counted
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
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
return { 'TRY', redis.call('PFCOUNT', KEYS[2]) }
