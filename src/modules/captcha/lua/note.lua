-- Captcha, note: what MySQL decided about a code, so that the next try need not ask it.
-- KEYS[1] state   ARGV[1] status, empty leaves it  [2] tries so far  [3] life, ms
-- Reply: 1
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], 'status', ARGV[1]) end
redis.call('HSET', KEYS[1], 'attempts', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
