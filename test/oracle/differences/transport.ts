import { type Difference, refused, served, streaming, taken } from '../difference.ts'

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
    ours: refused(400, -32000),
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
