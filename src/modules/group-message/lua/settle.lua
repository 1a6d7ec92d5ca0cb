-- Settle: what became of a send. Takes its number out of flight and writes its claim.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] claim (uniq:msg)
-- ARGV[1] epoch of the number   ARGV[2] seq to release; "" when no row with that seq is known to be stored
-- ARGV[3] new claim status: done, failed, or "" to leave it   ARGV[4] owner, token of this attempt
-- ARGV[5] life of the claim, s   ARGV[6] claim, JSON
-- Replies: { "SETTLED", stableSeq }  |  { "OTHER_EPOCH" } the counter has moved on; the claim was written all the same
--@include doubt

if ARGV[3] == 'done' then
  redis.call('SET', KEYS[4], ARGV[6], 'EX', ARGV[5])
elseif ARGV[3] == 'failed' then
  -- Only by its owner, and never over a message that is stored.
  local ok, claim = pcall(cjson.decode, redis.call('GET', KEYS[4]) or '')
  if ok and type(claim) == 'table' and claim.owner == ARGV[4] and claim.status ~= 'done' then
    redis.call('SET', KEYS[4], ARGV[6], 'EX', ARGV[5])
  end
end

local head = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
if head[1] ~= ARGV[1] then return { 'OTHER_EPOCH' } end
if ARGV[2] ~= '' then
  if redis.call('ZREM', KEYS[2], ARGV[2]) == 1 then redis.call('HINCRBY', KEYS[1], 'entries', -1) end
  redis.call('ZREM', KEYS[3], ARGV[2])
end
return { 'SETTLED', text(stable_seq({ seq = tonumber(head[2]) }, KEYS[2])) }
