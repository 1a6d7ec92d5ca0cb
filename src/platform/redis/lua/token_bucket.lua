-- Rate, token bucket: takes up to as many tokens as asked for; the bucket and its end are set together.
-- KEYS[1] hash tokens, at (ms)   ARGV[1] tokens a second   ARGV[2] most tokens (burst)   ARGV[3] tokens wanted
-- ARGV[4] fewest that are of use: below that none is taken
-- Replies: { tokens taken, 0 }  |  { 0, ms until ARGV[4] tokens are there }
local per_ms = tonumber(ARGV[1]) / 1000
local burst = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Whatever else sits there (left over from elsewhere) is no bucket: a full one takes its place.
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local at = tonumber(bucket[2]) or now
local tokens = tonumber(bucket[1]) or burst
-- A clock that went back gives nothing and takes nothing.
tokens = math.max(0, math.min(burst, tokens + math.max(0, now - at) * per_ms))
local least = math.min(tonumber(ARGV[4]), burst)
if tokens < least then
  redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
  redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / per_ms) + 1000)
  return { 0, math.ceil((least - tokens) / per_ms) }
end
local taken = math.min(tonumber(ARGV[3]), math.floor(tokens))
tokens = tokens - taken
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
-- A full bucket and no bucket are the same.
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / per_ms) + 1000)
return { taken, 0 }
