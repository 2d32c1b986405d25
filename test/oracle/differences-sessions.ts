import { type Difference, failed, refused, served, streaming, taken } from './difference.ts'

/** Headers, HTTP methods, sessions. */
export const transportDifferences: readonly Difference[] = [
  {
    anchor: 'sdk-refused-id',
    requests: /^(media, |version header, |body, |initialize: )/,
    ours: { message: 'error', code: '-32000', id: /^[^n]/ },
    theirs: { message: 'error', code: '-32000', id: 'null' },
  },
  {
    anchor: 'sdk-accept',
    requests: /^media, live session: Accept (absent|"\*\/\*"|"application\/\*|"Application\/)/,
    ours: served,
    theirs: refused(406, -32000),
  },
  {
    anchor: 'sdk-accept',
    requests: /^media, none session: Accept (absent|"\*\/\*"|"application\/\*|"Application\/)/,
    ours: refused(400, -32000, '1'),
    theirs: refused(406, -32000),
  },
  {
    anchor: 'sdk-accept',
    requests: /^GET: Accept (absent|"\*\/\*"|"text\/\*")/,
    ours: streaming,
    theirs: refused(406, -32000),
  },
  {
    anchor: 'sdk-accept-zero',
    requests: /^media, live session: Accept "application\/json;q=0,/,
    ours: refused(406, -32000, '1'),
    theirs: served,
  },
  {
    anchor: 'sdk-accept-zero',
    requests: /^media, none session: Accept "application\/json;q=0,/,
    ours: refused(406, -32000, '1'),
    theirs: refused(400, -32000),
  },
  {
    anchor: 'sdk-accept-zero',
    requests: /^GET: Accept "text\/event-stream;q=0"/,
    ours: refused(406, -32000),
    theirs: streaming,
  },
  {
    anchor: 'sdk-delete',
    requests: /^(Origin, )?DELETE: /,
    ours: { status: 204 },
    theirs: { status: 200 },
  },
  {
    anchor: 'sdk-second-stream',
    requests: /^GET: a second stream$/,
    ours: streaming,
    theirs: refused(409, -32000),
  },
  {
    anchor: 'sdk-origin',
    requests: /^Origin: "(moz-extension:\/\/localhost)?"$/,
    ours: refused(403, -32000),
    theirs: served,
  },
  {
    anchor: 'sdk-host-form',
    requests: /^Host: "localhost:x"$/,
    ours: {
      ...refused(400, -32000),
      type: 'application/problem+json',
      message: 'none',
      code: null,
      id: null,
    },
    theirs: refused(403, -32000),
  },
  {
    anchor: 'sdk-unpublished-revision',
    requests: /^version header, \S+ session: a request, "2024-10-07"$/,
    ours: refused(400, -32000, '1'),
    theirs: served,
  },
  {
    anchor: 'sdk-unpublished-revision',
    requests: /^version header, live session: a (notification|response), "2024-10-07"$/,
    ours: refused(400, -32000),
    theirs: taken,
  },
]

const batch = {
  status: 200,
  message: 'batch',
  code: /^(ok|-32601)( (ok|-32601))*$/,
  id: /^\S/,
  members: null,
  value: null,
  session: false,
} as const

/** What is in a body: single messages, batches, `initialize`. */
export const messageDifferences: readonly Difference[] = [
  {
    anchor: 'sdk-not-utf-eight',
    requests: /^body, live session: (not UTF-8|byte order mark)$/,
    ours: refused(400, -32700),
    theirs: served,
  },
  {
    anchor: 'sdk-not-utf-eight',
    requests: /^body, none session: (not UTF-8|byte order mark)$/,
    ours: refused(400, -32700),
    theirs: refused(400, -32000),
  },
  {
    anchor: 'sdk-depth',
    requests: /^body, live session: nested 100 levels$/,
    ours: refused(400, -32600),
    theirs: served,
  },
  {
    anchor: 'sdk-depth',
    requests: /^body, none session: nested 100 levels$/,
    ours: refused(400, -32600),
    theirs: refused(400, -32000),
  },
  {
    anchor: 'sdk-body-size',
    requests: /^body, live session: 2 MiB$/,
    ours: refused(413, -32000),
    theirs: served,
  },
  {
    anchor: 'sdk-body-size',
    requests: /^body, none session: 2 MiB$/,
    ours: refused(413, -32000),
    theirs: refused(400, -32000),
  },
  {
    anchor: 'sdk-refused-id',
    requests: /^body, (live|none) session: method (missing|a number|null)$/,
    ours: refused(400, -32600, '1'),
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-refused-id',
    requests: /^initialize: with the header of a session that is live/,
    ours: refused(400, -32600, '1'),
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-bad-id',
    requests: /^(bad id:|initialize: id|stateless id:) (1\.5|9007199254740992)$/,
    ours: refused(400, -32600),
    theirs: refused(400, -32600, /^\d/),
  },
  {
    anchor: 'sdk-unknown-members',
    requests: /^body, live session: (unknown members|a prototype key|a request with an? \w+)$/,
    ours: served,
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-unknown-members',
    requests: /^body, none session: (unknown members|a prototype key|a request with an? \w+)$/,
    ours: refused(400, -32000, '1'),
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-empty-params',
    requests: /^body, live session: params (an array|null)$/,
    ours: served,
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-empty-params',
    requests: /^body, none session: params (an array|null)$/,
    ours: refused(400, -32000, '1'),
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-empty-params',
    requests: /^body, live session: a notification with array params$/,
    ours: taken,
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-empty-params',
    requests: /^body, none session: a notification with array params$/,
    ours: refused(400, -32000),
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-unused-meta',
    requests: /^body, live session: params with (null _meta|text _meta|a boolean progress token)$/,
    ours: served,
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-unused-meta',
    requests: /^body, none session: params with (null _meta|text _meta|a boolean progress token)$/,
    ours: refused(400, -32000, '1'),
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-responses',
    requests: /^(body, live session: (an? )?(error|array as result|result)\b|bad id of a result: )/,
    ours: taken,
    theirs: refused(400, -32600, /./),
  },
  {
    anchor: 'sdk-responses',
    requests:
      /^body, none session: (an (error with null id|error without message|array as result)|a result without id|result and error)$/,
    ours: refused(400, -32000),
    theirs: refused(400, -32600, /./),
  },
  {
    anchor: 'sdk-batch-revisions',
    requests: /^batch, (2025-11-25|2025-06-18|2024-11-05): /,
    ours: refused(400, -32600),
    theirs: batch,
  },
  {
    anchor: 'sdk-batch-revisions',
    requests:
      /^batch, (2025-11-25|2025-06-18|2024-11-05): (one request|a request and a notification)$/,
    ours: refused(400, -32600),
    theirs: { ...served, members: '', value: '{}', session: false },
  },
  {
    anchor: 'sdk-batch-revisions',
    requests:
      /^batch, (2025-11-25|2025-06-18|2024-11-05): a (notification|response|notification and a response)$/,
    ours: refused(400, -32600),
    theirs: taken,
  },
  {
    anchor: 'sdk-batch-array',
    requests: /^batch, 2025-03-26: (one request|a request and a notification)$/,
    ours: batch,
    theirs: { ...served, members: '', value: '{}', session: false },
  },
  {
    anchor: 'sdk-batch-elements',
    requests: /^batch, 2025-03-26: (a number|a batch)$/,
    ours: { ...batch, code: '-32600', id: 'null' },
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-batch-elements',
    requests: /^batch, 2025-03-26: a request and (a number|no message)$/,
    ours: { ...batch, code: 'ok -32600', id: '1 null' },
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-batch-initialize',
    requests: /^batch, no session: initialize$/,
    ours: refused(400, -32000),
    theirs: { ...served, session: true },
  },
  {
    anchor: 'sdk-session-first',
    requests:
      /^batch, no session: (nothing|101 requests|a request and initialize|a number|a request and a number|a request and no message|a batch)$/,
    ours: refused(400, -32000),
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-initialize-missing',
    requests: /^initialize: (no capabilities|no clientInfo|an empty clientInfo)$/,
    ours: { ...served, session: true },
    theirs: refused(400, -32000),
  },
  {
    anchor: 'sdk-initialize-malformed',
    requests:
      /^initialize: (no version|a numeric version|(list|null) capabilities|a text as clientInfo|without params)$/,
    ours: failed(-32602),
    theirs: refused(400, -32000),
  },
  {
    anchor: 'sdk-initialize-notification',
    requests: /^initialize: as a notification$/,
    ours: refused(400, -32000),
    theirs: taken,
  },
  {
    anchor: 'sdk-initialize-dead-session',
    requests: /^initialize: with the header of a session that is (unknown|ended)/,
    ours: refused(404, -32001, '1'),
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-unpublished-revision',
    requests: /^initialize: version "2024-10-07"$/,
    ours: { value: '{"protocolVersion":"2025-11-25"}' },
    theirs: { value: '{"protocolVersion":"2024-10-07"}' },
  },
]

/** What the methods of the session revisions answer. */
export const methodDifferences: readonly Difference[] = [
  {
    anchor: 'sdk-not-found',
    requests: /^method, \S+: resources\/read \{"uri":"(test:\/\/nothing-here|unheard:\/\/of)"\}$/,
    ours: { ...failed(-32002), members: 'uri' },
    theirs: { ...failed(-32602), members: 'uri' },
  },
  {
    anchor: 'sdk-malformed-uri',
    requests: /^method, \S+: resources\/read \{"uri":"(no uri|test:\/\/x{50,}|)"?/,
    ours: { ...failed(-32602), members: null },
    theirs: { ...failed(-32602), members: 'uri' },
  },
  {
    anchor: 'sdk-cursor',
    requests: /^method, \S+: (resources|resources\/templates|tools)\/list \{"cursor":"\w*"\}$/,
    ours: failed(-32602),
    theirs: served,
  },
  {
    anchor: 'sdk-params',
    requests: /^method, \S+: (resources|completion)\/.*$/,
    ours: failed(-32602),
    theirs: failed(-32603),
  },
]
