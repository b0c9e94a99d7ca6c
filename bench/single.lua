-- One event a request with ids of its own; the same script and the same work for every server.
-- wrk -t1 -c64 -s single.lua http://127.0.0.1:PORT/api/v1/telemetry -- TOKEN SEED
local bit = require("bit")
local format, tobit, bxor, rshift = string.format, bit.tobit, bit.bxor, bit.rshift
local number, seed, runs, head, tail, length = 0, 0, {}, "", "", 0

-- A bijection of 32 bits: ids look random and none comes twice.
local function mix(x)
    x = bxor(x, rshift(x, 16))
    x = tobit((x % 65536) * 0x45d9 + bit.lshift((rshift(x, 16) * 0x45d9) % 65536, 16))
    x = bxor(x, rshift(x, 15))
    x = tobit((x % 65536) * 0x2c1b + bit.lshift((rshift(x, 16) * 0x2c1b) % 65536, 16))
    return bxor(x, rshift(x, 16))
end

local function uuid(n, salt)
    local a, b = mix(n), mix(bxor(n, salt))
    return format("%08x-%04x-4%03x-a%03x-%08x%04x", a % 4294967296, rshift(b, 16), b % 4096,
        salt % 4096, seed % 4294967296, mix(bxor(b, seed)) % 65536)
end

function init(args)
    seed = tobit(tonumber(args[2]))
    head = "POST /api/v1/telemetry HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " ..
        args[1] .. "\r\nContent-Type: application/json\r\nContent-Length: "
    tail = '","agent_name":"invoice-bot-07","agent_version":"2.4.1","client_id":"bench",' ..
        '"event":"in_progress","timestamp":"2026-01-02T03:04:05.123456Z","level":"info",' ..
        '"message":"Posted invoice 00012345 to the ledger","category":"posting",' ..
        '"source":"ledger.py:214","metadata":{"customer":"c-012345","region":"eu-west-1",' ..
        '"currency":"EUR"},"metrics":{"latency_ms":123456,"lines":4,"confidence":0.912345},"seq":4}'
    length = #'{"event_id":"' + 36 + #'","run_id":"' + 36 + #tail
    head = head .. length .. '\r\n\r\n{"event_id":"'
end

-- Ten events a run, of 100 runs at a time.
function request()
    local place = number % 100
    if number % 1000 < 100 then
        runs[place] = uuid(number, 0x52554e)
    end
    number = number + 1
    return head .. uuid(number, 0x455654) .. '","run_id":"' .. runs[place] .. tail
end
