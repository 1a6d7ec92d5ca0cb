-- Settle: what became of a send. Takes its number out of flight and writes its claim.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] claim (uniq:msg)
-- KEYS[5] hot_msgs   KEYS[6] hot_meta
-- ARGV[1] epoch of the number   ARGV[2] seq to release; "" when no row with that seq is known to be stored
-- ARGV[3] new claim status: done, failed, or "" to leave it   ARGV[4] owner, token of this attempt
-- ARGV[5] life of the claim, s   ARGV[6] claim, JSON
-- ARGV[7] hot copy "<version>:<JSON>", "" for none   ARGV[8] hot generation at Admit   ARGV[9] life of the hot set, s
-- ARGV[10] most hot members   ARGV[11] most hot bytes
-- Replies: { "SETTLED", stableSeq }  |  { "OTHER_EPOCH" } the counter has moved on; the claim was written all the same
--@include doubt
--@include hot

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
  local now = now_ms()
  local deadline = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]) or '0')
  local in_flight = redis.call('ZREM', KEYS[2], ARGV[2]) == 1
  if in_flight then redis.call('HINCRBY', KEYS[1], 'entries', -1) end
  redis.call('ZREM', KEYS[3], ARGV[2])
  -- A copy only within the deadline, which is shorter than the life of an open change: a message that was recalled
  -- meanwhile has raised the generation.
  if ARGV[7] ~= '' and in_flight and deadline > now then
    local run_id = server_run_id()
    local generation, open = hot_state(KEYS[5], KEYS[6], run_id, now)
    if not open and generation == ARGV[8] then
      if generation == '' then hot_begin(KEYS[6], run_id, ARGV[9]) end
      hot_put(KEYS[5], KEYS[6], ARGV[2], ARGV[7], tonumber(ARGV[10]), tonumber(ARGV[11]))
      hot_keep(KEYS[5], KEYS[6], ARGV[9])
    end
  end
end
return { 'SETTLED', text(stable_seq({ seq = tonumber(head[2]) }, KEYS[2])) }
