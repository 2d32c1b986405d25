import { acknowledged, type Difference, failed, refused, served } from './difference.ts'

/** Requests of 2026-07-28. */
export const statelessDifferences: readonly Difference[] = [
  {
    anchor: 'sdk-tool-changes',
    requests: /^listen: (everything|tools alone)$/,
    ours: acknowledged,
    theirs: acknowledged,
  },
  {
    anchor: 'sdk-null-id',
    requests:
      /^stateless (id: (null|true|\{\})|header with (a stateless batch|an empty batch|no JSON|nothing|null))$/,
    ours: { id: null },
    theirs: { id: 'null' },
  },
  {
    anchor: 'sdk-null-id',
    requests: /^stateless notification \S+ with /,
    ours: { id: null },
    theirs: { id: 'null' },
  },
  {
    anchor: 'sdk-null-id',
    requests: /^version header, \w+ session: a notification, "(2099-01-01|DRAFT-2026-v1|garbage)"$/,
    ours: { id: null },
    theirs: { id: 'null' },
  },
  {
    anchor: 'sdk-refused-code',
    requests: /^stateless(, (Host|Origin) evil| media: Content-Type (absent|"text\/plain"))$/,
    ours: { code: '-32600', id: null },
    theirs: { code: '-32000', id: 'null' },
  },
  {
    anchor: 'sdk-bad-id',
    requests: /^stateless id: (1\.5|9007199254740992)$/,
    ours: { id: null },
    theirs: { id: /^\d/ },
  },
  {
    anchor: 'sdk-refused-id',
    requests: /^stateless header with no method$/,
    ours: refused(400, -32600, '1'),
    theirs: refused(400, -32600),
  },
  {
    anchor: 'sdk-stateless-batch',
    requests: /^stateless header with a batch$/,
    ours: { code: '-32600', id: null },
    theirs: { code: '-32000', id: 'null' },
  },
  {
    anchor: 'sdk-malformed-meta',
    requests: /^stateless header with (text|null) _meta$/,
    ours: refused(400, -32602, '1'),
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-unused-meta',
    requests: /^stateless meta(, read)?: a boolean progress token$/,
    ours: served,
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-malformed-uri',
    requests: /^stateless method: resources\/read \{"uri":"(no uri|test:\/\/x{50,}|)"?/,
    ours: { ...failed(-32602), members: null },
    theirs: { ...failed(-32602), members: 'uri' },
  },
  {
    anchor: 'sdk-malformed-uri',
    requests:
      /^stateless name of a URI: (not ASCII|spaces at the ends|itself like a marker|a line break), base64$/,
    ours: { ...failed(-32602), members: null },
    theirs: { ...failed(-32602), members: 'uri' },
  },
  {
    anchor: 'sdk-empty-params',
    requests: /^stateless header with (array|null) params$/,
    ours: refused(400, -32602, '1'),
    theirs: refused(400, -32600, '1'),
  },
  {
    anchor: 'sdk-cursor',
    requests: /^stateless method: (resources|resources\/templates|tools)\/list \{"cursor":"\w*"\}$/,
    ours: failed(-32602),
    theirs: served,
  },
  {
    anchor: 'sdk-params',
    requests: /^stateless method: (resources|completion)\//,
    ours: failed(-32602),
    theirs: failed(-32603),
  },
  {
    anchor: 'sdk-params',
    requests: /^stateless name, (no|a numeric|a null) uri: /,
    ours: failed(-32602),
    theirs: failed(-32603),
  },
  {
    anchor: 'sdk-listen-uri',
    requests: /^listen: (a URI of an unknown scheme|no URI at all)$/,
    ours: { ...failed(-32602), members: /^(uri|null)$/ },
    theirs: acknowledged,
  },
  {
    anchor: 'sdk-listen-list',
    requests: /^listen: no URI$/,
    ours: { value: /"notifications":\{"resourceSubscriptions":\[\]\}/ },
    theirs: { value: /"notifications":\{\}/ },
  },
  {
    anchor: 'sdk-listen-list',
    requests: /^listen: a URI twice$/,
    ours: { value: /"resourceSubscriptions":\["test:\/\/watched-resource"\]/ },
    theirs: { value: /\["test:\/\/watched-resource","test:\/\/watched-resource"\]/ },
  },
]
