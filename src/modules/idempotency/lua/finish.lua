-- Idempotency key, last step: keeps the answer, if the claim is still this request's.
-- KEYS[1] the key   ARGV[1] owner token   ARGV[2] answer (JSON)   ARGV[3] life, s
-- Replies: KEPT | LOST  the claim had ended
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 'LOST' end
redis.call('HSET', KEYS[1], 'state', 'done', 'answer', ARGV[2])
redis.call('HDEL', KEYS[1], 'owner')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 'KEPT'
