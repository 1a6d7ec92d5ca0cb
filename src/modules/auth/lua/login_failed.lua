-- Log-in, after the wrong password: notes the address among those that failed. The window begins with the first of them.
-- KEYS[1] HyperLogLog of addresses   ARGV[1] address   ARGV[2] window, s
-- Replies: NOTED
redis.call('PFADD', KEYS[1], ARGV[1])
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return 'NOTED'
