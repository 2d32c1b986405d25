import fc from 'fast-check'
import { anyJson, hostileTexts, mostly, mutated, someDamage } from './arbitraries.ts'
import { hexPlace, type Made, mcpRequest } from './requests.ts'

/** Stands for the token of the application. */
export const tokenPlace = '<host token>'

const text = fc.constantFrom(...hostileTexts)

const authorization = mostly(
  8,
  fc.constant(`Bearer ${tokenPlace}`),
  fc.constantFrom('', 'Bearer x', 'Bearer'),
) as fc.Arbitrary<string>

const posts: readonly [route: string, body: fc.Arbitrary<unknown>][] = [
  ['scene', anyJson],
  [
    'audit',
    fc.record({
      records: fc.array(fc.record({ action: text, params: anyJson, outcome: anyJson }), {
        maxLength: 3,
      }),
    }),
  ],
  [
    'events/s1',
    fc.record({
      events: fc.array(
        fc.record({
          source: fc.constant('s'),
          stream: fc.constant('t'),
          message: text,
          metadata: anyJson,
        }),
        { maxLength: 3 },
      ),
    }),
  ],
  ['artefacts', anyJson],
  ['artefacts?display_name=x', anyJson],
]

/** A post of an application, half right. */
const hostPost: fc.Arbitrary<Made> = fc.constantFrom(...posts).chain(([route, body]) => {
  const path = fc.constant(`/host/v1/${route}`)
  return fc
    .record({
      method: mostly(15, fc.constant('POST'), fc.constant('PUT')) as fc.Arbitrary<string>,
      path: mostly(6, path, mutated(path)) as fc.Arbitrary<string>,
      authorization,
      content: body.map(value => JSON.stringify(value) ?? ''),
      damage: someDamage,
    })
    .map(({ method, path, authorization, content, damage }) => ({
      method,
      path,
      headers: [
        ['Authorization', authorization],
        ['Content-Type', 'application/json'],
      ],
      body: content,
      damage,
    }))
})

/** A download of an artefact, with a range and a condition. */
const download: fc.Arbitrary<Made> = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD'),
    path: mostly(
      3,
      fc.constant(`/artefacts/sha256/${hexPlace}`),
      mutated(fc.constant(`/artefacts/sha256/${hexPlace}`)),
    ) as fc.Arbitrary<string>,
    range: mutated(fc.constant('bytes=0-10')),
    condition: fc.constantFrom('*', '"x"', 'W/'),
  })
  .map(({ method, path, range, condition }) => ({
    method,
    path,
    headers: [
      ['Range', range],
      ['If-None-Match', condition],
    ],
    body: '',
    damage: [],
  }))

export const otherRequest: fc.Arbitrary<Made> = fc.oneof(
  { weight: 3, arbitrary: hostPost },
  { weight: 1, arbitrary: download },
)

/** A request written out, wrong about its length, or in chunks that are none. */
export const writtenRequest: fc.Arbitrary<{ made: Made; length: string }> = fc.record({
  made: mcpRequest,
  length: fc.oneof(
    { weight: 4, arbitrary: fc.constant('right') },
    { weight: 1, arbitrary: fc.nat(500).map(bytes => `Content-Length: ${bytes}`) },
    { weight: 1, arbitrary: fc.constant('Transfer-Encoding: chunked') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('Upgrade: websocket', 'Expect: 100-continue', 'TE: x'),
    },
  ),
})
