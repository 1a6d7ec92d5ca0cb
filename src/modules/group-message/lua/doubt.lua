-- Shared: is the topic's counter to be trusted?
-- The server's run id changes with a restart, a fail-over or a restored dump; `entries` differs from the sizes when one of
-- the keys was lost alone; a deadline that has passed belongs to a writer that died or hangs.
local run_id_of_server
local function server_run_id()
  run_id_of_server = run_id_of_server or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  return run_id_of_server
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Returns the counter { epoch, seq, entries } (nil when missing), and the doubt: nil, "missing", "run_id", "entries", "expired".
local function read_counter(last_seq, inflight, deadlines)
  local head = redis.call('HMGET', last_seq, 'epoch', 'seq', 'entries', 'run_id')
  local epoch, seq, entries = tonumber(head[1]), tonumber(head[2]), tonumber(head[3])
  if not (epoch and seq and entries and head[4]) then return nil, 'missing' end
  local counter = { epoch = epoch, seq = seq, entries = entries }
  if head[4] ~= server_run_id() then return counter, 'run_id' end
  if redis.call('ZCARD', inflight) ~= entries or redis.call('ZCARD', deadlines) ~= entries then return counter, 'entries' end
  local first = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) <= now_ms() then return counter, 'expired' end
  return counter, nil
end

-- Every seq at or below it is stored or a hole for good.
local function stable_seq(counter, inflight)
  local first = redis.call('ZRANGE', inflight, 0, 0)
  if first[1] then return tonumber(first[1]) - 1 end
  return counter.seq
end

local function text(number)
  return string.format('%.0f', number)
end
