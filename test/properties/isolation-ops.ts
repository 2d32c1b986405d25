import fc from 'fast-check'

/** Sessions 0 and 1 are Alice's, 2 and 3 Bob's. */
export const owners = ['alice', 'alice', 'bob', 'bob'] as const

/** A resource that changes, under spellings that all mean it. */
export const changing = {
  'scene://current': ['scene://current', 'SCENE://current', 'scene://%63urrent'],
  'audit://recent': ['audit://recent', 'Audit://recent'],
  'thing://a': ['thing://a', 'thing://%61', 'THING://a'],
  'thing://b': ['thing://b'],
} as const
export type Changing = keyof typeof changing

/** One thing that happens, to or by one of the sessions. */
export type Op =
  | { readonly op: 'subscribe' | 'unsubscribe'; readonly by: number; readonly uri: string }
  | { readonly op: 'read'; readonly by: number; readonly uri: string }
  | { readonly op: 'change'; readonly what: Changing }
  /** With the id of somebody else's session and a key of one's own. */
  | { readonly op: 'steal'; readonly of: number; readonly method: string; readonly uri: string }
  | { readonly op: 'reconnect' | 'end'; readonly by: number }
  /** A stream of the stateless transport. */
  | { readonly op: 'listen'; readonly uris: readonly string[]; readonly list: boolean }
  | { readonly op: 'hang up'; readonly at: number }
  /** The listing becomes another one. */
  | { readonly op: 'list' }

const by = fc.nat(owners.length - 1)
const spelling = fc.constantFrom<string>(...Object.values(changing).flat())
const unpushed = fc.constantFrom('events://session/none', 'capture://current_window')

export const someOps: fc.Arbitrary<readonly Op[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ op: fc.constant('subscribe' as const), by, uri: spelling }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        op: fc.constant('change' as const),
        what: fc.constantFrom(...(Object.keys(changing) as Changing[])),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constant('unsubscribe' as const), by, uri: spelling }),
    },
    { weight: 3, arbitrary: fc.record({ op: fc.constant('read' as const), by, uri: spelling }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('steal' as const),
        of: by,
        method: fc.constantFrom(
          'resources/subscribe',
          'resources/unsubscribe',
          'resources/read',
          'GET',
          'DELETE',
        ),
        uri: spelling,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ op: fc.constant('subscribe' as const), by, uri: unpushed }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('reconnect' as const), by }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('end' as const), by }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('listen' as const),
        uris: fc.array(fc.oneof(spelling, unpushed), { maxLength: 4 }),
        list: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('hang up' as const), at: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.constant({ op: 'list' as const }) },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** The resource that a spelling means; undefined for one that never changes. */
export function resourceOf(uri: string): Changing | undefined {
  const all = Object.entries(changing) as [Changing, readonly string[]][]
  return all.find(([, spellings]) => spellings.includes(uri))?.[0]
}
