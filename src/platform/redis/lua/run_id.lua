-- Shared: which server this is. What was filled on another one (a restored dump, a fail-over) may lack invalidations.
local function server_run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end
