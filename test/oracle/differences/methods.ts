import { type Difference, failed, served } from '../difference.ts'

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
  {
    anchor: 'sdk-completion-variable',
    requests: /^method, \S+: completion\/complete .*"name":"other"/,
    ours: failed(-32602),
    theirs: served,
  },
]
