import {
  acknowledged,
  batch,
  type Expected,
  failed,
  refused,
  served,
  streaming,
  taken,
} from './difference.ts'

/** Which requests, what the product answers, and what the SDK does. */
export type Difference = readonly [requests: RegExp, ours: Expected, theirs: Expected]

/** Where the product answers otherwise than the official SDK, on purpose, by the reason for it. */
export const differences: Readonly<Record<string, readonly Difference[]>> = {
  'Accept is read as RFC 9110, 12.5.1 says, not searched for two names': [
    [
      /^media: Accept (absent|"\*\/\*"|"application\/\*|"Application\/)/,
      served,
      refused(406, -32000),
    ],
    [/^GET: Accept (absent|"\*\/\*"|"text\/\*")/, streaming, refused(406, -32000)],
    [/^media: Accept "application\/json;q=0,/, refused(406, -32000), served],
    [/^GET: Accept "text\/event-stream;q=0"/, refused(406, -32000), streaming],
  ],
  'RFC 9110, 9.3.5: a DELETE without a body in its answer is a 204': [
    [/^DELETE: /, { status: 204 }, { status: 200 }],
  ],
  'a client that lost its connection is not locked out until that is noticed': [
    [/^GET: a second stream$/, streaming, refused(409, -32000)],
  ],
  'no revision of MCP has that date': [
    [/^version header, \S+ session: a request, "2024-10-07"$/, refused(400, -32000), served],
    [
      /^version header, live session: a (notification|response), "2024-10-07"$/,
      refused(400, -32000),
      taken,
    ],
    [
      /^initialize: version "2024-10-07"$/,
      { value: '{"protocolVersion":"2025-11-25"}' },
      { value: '{"protocolVersion":"2024-10-07"}' },
    ],
  ],
  'RFC 8259, 8.1: JSON is UTF-8 without a byte order mark': [
    [/^body: (not UTF-8|byte order mark)$/, refused(400, -32700), served],
  ],
  'bodies have a bound in depth and size': [
    [/^body: nested 100 levels$/, refused(400, -32600), served],
    [/^body: 2 MiB$/, refused(413, -32000), served],
  ],
  'JSON-RPC 2.0, 5: the id of an invalid request is null': [
    [/^body: (jsonrpc|params)/, refused(400, -32600), refused(400, -32600, '1')],
    [/^(bad id:|initialize: id) (1\.5|9007199254740992)$/, { id: /^null$/ }, { id: /^\d/ }],
  ],
  'what is not needed is not checked': [
    [
      /^body: (unknown members|a prototype key|a request with an? \w+)$/,
      served,
      refused(400, -32600, '1'),
    ],
    [
      /^body: params with (null _meta|text _meta|a boolean progress token)$/,
      served,
      refused(400, -32600, '1'),
    ],
    [/^stateless meta(, read)?: a boolean progress token$/, served, refused(400, -32600, '1')],
    [
      /^(body: (an? )?(error|array as result|result)\b|bad id of a result: )/,
      taken,
      refused(400, -32600, /./),
    ],
    [
      /^initialize: (no capabilities|no clientInfo|an empty clientInfo)$/,
      { ...served, session: true },
      refused(400, -32000),
    ],
  ],
  'clients without params send null or an empty array': [
    [/^body: params (an array|null)$/, served, refused(400, -32600, '1')],
    [/^body: a notification with array params$/, taken, refused(400, -32600)],
    [
      /^stateless header with (array|null) params$/,
      refused(400, -32602, '1'),
      refused(400, -32600, '1'),
    ],
  ],
  'MCP 2025-03-26 introduced batches, 2025-06-18 removed them': [
    [/^batch, (2025-11-25|2025-06-18|2024-11-05): /, refused(400, -32600), batch],
    [
      /^batch, (2025-11-25|2025-06-18|2024-11-05): (one request|a request and a notification)$/,
      refused(400, -32600),
      { ...served, members: '', value: '{}', session: false },
    ],
    [
      /^batch, (2025-11-25|2025-06-18|2024-11-05): a (notification|response|notification and a response)$/,
      refused(400, -32600),
      taken,
    ],
    [
      /^stateless header with a batch$/,
      { code: '-32600', id: null },
      { code: '-32000', id: 'null' },
    ],
  ],
  'JSON-RPC 2.0, 6: a batch is answered by an array, and each message by itself': [
    [
      /^batch, 2025-03-26: (one request|a request and a notification)$/,
      batch,
      { ...served, members: '', value: '{}', session: false },
    ],
    [
      /^batch, 2025-03-26: (a number|a batch)$/,
      { ...batch, code: '-32600', id: 'null' },
      refused(400, -32600),
    ],
    [
      /^batch, 2025-03-26: a request and (a number|no message)$/,
      { ...batch, code: 'ok -32600', id: '1 null' },
      refused(400, -32600),
    ],
  ],
  'without a session that is said first': [
    [/^batch, no session: initialize$/, refused(400, -32000), { ...served, session: true }],
    [
      /^batch, no session: (nothing|101 requests|a request and initialize|a number|a request and a number|a request and no message|a batch)$/,
      refused(400, -32000),
      refused(400, -32600),
    ],
  ],
  'JSON-RPC 2.0, 5.1: a parameter that is missing or of a wrong type is -32602': [
    [
      /^initialize: (no version|a numeric version|(list|null) capabilities|a text as clientInfo|without params)$/,
      failed(-32602),
      refused(400, -32000),
    ],
    [/^method, \S+: (resources|completion)\/.*$/, failed(-32602), failed(-32603)],
    [/^stateless method: (resources|completion)\//, failed(-32602), failed(-32603)],
    [/^stateless name, (no|a numeric|a null) uri: /, failed(-32602), failed(-32603)],
    [
      /^stateless header with (text|null) _meta$/,
      refused(400, -32602, '1'),
      refused(400, -32600, '1'),
    ],
  ],
  'initialize is a request': [[/^initialize: as a notification$/, refused(400, -32000), taken]],
  'MCP 2025-11-25: a session that is gone is a 404': [
    [
      /^initialize: with the header of a session that is (unknown|ended)/,
      refused(404, -32001),
      refused(400, -32600),
    ],
  ],
  'MCP 2025-11-25: a resource that is not there is -32002': [
    [
      /^method, \S+: resources\/read \{"uri":"(test:\/\/nothing-here|unheard:\/\/of)"\}$/,
      { ...failed(-32002), members: 'uri' },
      { ...failed(-32602), members: 'uri' },
    ],
  ],
  'data.uri is for what was looked for': [
    [
      /^(method, \S+|stateless method): resources\/read \{"uri":"(no uri|test:\/\/x{50,}|)"?/,
      { ...failed(-32602), members: null },
      { ...failed(-32602), members: 'uri' },
    ],
    [
      /^stateless name of a URI: (not ASCII|spaces at the ends|itself like a marker|a line break), base64$/,
      { ...failed(-32602), members: null },
      { ...failed(-32602), members: 'uri' },
    ],
  ],
  'a cursor that was never given out is invalid': [
    [
      /^(method, \S+|stateless method): (resources|resources\/templates|tools)\/list \{"cursor":"\w*"\}$/,
      failed(-32602),
      served,
    ],
  ],
  'MCP 2026-07-28: an error has no id where none was read, and no code from -32000 to -32019': [
    [
      /^stateless (id: (null|true|\{\})|header with (a stateless batch|an empty batch|no JSON|nothing|null|no method))$/,
      { id: null },
      { id: 'null' },
    ],
    [/^stateless notification \S+ with /, { id: null }, { id: 'null' }],
    [
      /^version header, \w+ session: a notification, "(2099-01-01|DRAFT-2026-v1|garbage)"$/,
      { id: null },
      { id: 'null' },
    ],
    [
      /^stateless(, (Host|Origin) evil| media: Content-Type (absent|"text\/plain"))$/,
      { code: '-32600', id: null },
      { code: '-32000', id: 'null' },
    ],
    [/^stateless id: (1\.5|9007199254740992)$/, { id: null }, { id: /^\d/ }],
  ],
  'MCP 2026-07-28: what a stream will tell is acknowledged, once': [
    [/^listen: (everything|tools alone)$/, acknowledged, acknowledged],
    [
      /^listen: (a URI of an unknown scheme|no URI at all)$/,
      { ...failed(-32602), members: /^(uri|null)$/ },
      acknowledged,
    ],
    [
      /^listen: no URI$/,
      { value: /"notifications":\{"resourceSubscriptions":\[\]\}/ },
      { value: /"notifications":\{\}/ },
    ],
    [
      /^listen: a URI twice$/,
      { value: /"resourceSubscriptions":\["test:\/\/watched-resource"\]/ },
      { value: /\["test:\/\/watched-resource","test:\/\/watched-resource"\]/ },
    ],
  ],
}
