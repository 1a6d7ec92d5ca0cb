-- Idempotency key, after a failure: gives the claim back, so that the same request may be made again.
-- KEYS[1] the key   ARGV[1] owner token
-- Replies: RELEASED | LOST  the claim had ended
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 'LOST' end
redis.call('DEL', KEYS[1])
return 'RELEASED'
