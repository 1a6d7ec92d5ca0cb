-- Cached value, extend: lets a value that is there live longer; a lease stays as it is.
-- KEYS[1] the cached value
-- ARGV[1] life from now on, s
-- Replies: 1 extended  |  0 there is no value
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GETRANGE', KEYS[1], 0, 0) ~= 'V' then return 0 end
return redis.call('EXPIRE', KEYS[1], ARGV[1])
