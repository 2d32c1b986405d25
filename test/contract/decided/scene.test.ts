import { expect } from 'chai'
import type { ResourceRegistry } from '../../../src/index.ts'
import { facts, listening, readCode, serving } from '../facts.ts'
import { until } from '../../helpers/until.ts'

const delta = 'scene://delta'

function nested(levels: number): object {
  let value: object = {}
  for (let level = 1; level < levels; level++) value = { in: value }
  return value
}

/** Sets the scenes and reads the delta. Revisions count from 1 here, whatever the run began with. */
async function deltaAfter(scenes: readonly (object | null)[], since?: number): Promise<any> {
  let read: any
  await serving(async ({ session, server }) => {
    const [first = 1] = scenes.map(scene => server.resources().setScene(scene))
    const query = since === undefined ? '' : `?since=${first - 1 + since}`
    read = await session.readJson(`${delta}${query}`)
    for (const name of ['base_revision', 'revision']) if (name in read) read[name] -= first - 1
  })
  return read
}

const refused: [string, unknown][] = [
  ['undefined', undefined],
  ['an array', [1]],
  ['a text', '{}'],
  ['NaN inside', { a: [Number.NaN] }],
  ['Infinity inside', { a: { b: Infinity } }],
  ['more than 64 levels', nested(65)],
]

facts('decision: placeholder and equal scenes', [
  [
    'the placeholder is status no_snapshot and a hint',
    () =>
      serving(async ({ session }) => {
        const placeholder = await session.readJson('scene://current')
        expect(placeholder).to.have.all.keys('status', 'hint')
        expect(placeholder.hint).to.be.a('string')
      }),
  ],
  [
    'an equal scene set again still notifies, and so does null twice',
    () =>
      serving(({ session, server }) =>
        listening(session, ['scene://current'], async events => {
          for (const scene of [{ a: 1 }, { a: 1 }, null, null]) server.resources().setScene(scene)
          await events.until(() => events.updates.length === 4)
        }),
      ),
  ],
])

facts('decision: scene://delta', [
  [
    'base_revision, revision, changes with pointer, kind, before and after, truncated',
    async () => {
      const read = await deltaAfter([
        { frame: 1, gone: true },
        { frame: 2, new: [1] },
      ])
      expect(read).to.include({ base_revision: 1, revision: 2, truncated: false })
      expect(read.changes).to.have.deep.members([
        { path: '/frame', kind: 'changed', before: 1, after: 2 },
        { path: '/gone', kind: 'removed', before: true },
        { path: '/new', kind: 'added', after: [1] },
      ])
    },
  ],
  [
    'arrays of objects are aligned on id',
    async () => {
      const [cube, lamp] = [
        { id: 'Cube', x: 0 },
        { id: 'Lamp', x: 5 },
      ]
      const read = await deltaAfter([{ objects: [cube, lamp] }, { objects: [{ ...lamp, x: 6 }] }])
      expect(read.changes).to.deep.equal([
        { path: '/objects/0', kind: 'removed', before: cube },
        { path: '/objects/0/x', kind: 'changed', before: 5, after: 6, id: 'Lamp' },
      ])
    },
  ],
  [
    '?since=N tells all changes since that revision',
    async () => {
      const read = await deltaAfter([{ n: 1 }, { n: 2 }, { n: 3 }], 1)
      expect(read).to.deep.include({ base_revision: 1, revision: 3 })
      expect(read.changes).to.deep.equal([{ path: '/n', kind: 'changed', before: 1, after: 3 }])
    },
  ],
  [
    'revisions of the last minutes are kept; an unknown N is answered with reset and the revision',
    async () => {
      const scenes = Array.from({ length: 20 }, (_, n) => ({ n: n + 1 }))
      expect(await deltaAfter(scenes, 1)).to.include({ base_revision: 1 })
      for (const since of [21, 999]) {
        const read = await deltaAfter(scenes, since)
        expect(read).to.deep.equal({ reset: true, revision: 20 })
      }
    },
  ],
  [
    '32 MiB of past revisions are kept',
    async () => {
      const scenes = Array.from({ length: 6 }, (_, n) => ({ n, text: 'x'.repeat(7 << 20) }))
      expect(await deltaAfter(scenes, 2)).to.include({ base_revision: 2 })
      expect(await deltaAfter(scenes, 1)).to.deep.equal({ reset: true, revision: 6 })
    },
  ],
  [
    'a revision of another run of the server is a reset',
    async () => {
      let earlier = 0
      await serving(async ({ server }) => {
        earlier = server.resources().setScene({ n: 1 })
      })
      // Revisions begin at the time of the start, in milliseconds.
      await until(() => Date.now() > earlier, 'a later millisecond')
      await serving(async ({ session, server }) => {
        const revision = [{ n: 2 }, { n: 3 }].map(each => server.resources().setScene(each))[1]
        const read = await session.readJson(`${delta}?since=${earlier}`)
        expect(read).to.deep.equal({ reset: true, revision })
        expect(await session.readJson(`${delta}?since=1`)).to.deep.equal({ reset: true, revision })
      })
    },
  ],
  [
    'without a scene it is the placeholder, also after the scene was cleared',
    async () => {
      expect(await deltaAfter([])).to.include({ status: 'no_snapshot' })
      expect(await deltaAfter([{ a: 1 }, null])).to.include({ status: 'no_snapshot' })
    },
  ],
  [
    'over 1000 changes the first ones come, and truncated is true',
    async () => {
      const many = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`m${n}`, n]))
      const filler = 'x'.repeat(100_000)
      const read = await deltaAfter([{ filler }, { filler, ...many }])
      expect(read.truncated).to.equal(true)
      expect(read.changes).to.have.length(1000)
    },
  ],
  [
    'a delta larger than the scene is cut, and summed up',
    async () => {
      const objects = Array.from({ length: 100 }, (_, n) => ({ id: n, type: 'mesh' }))
      const read = await deltaAfter([{ objects }, { frame: 1 }])
      expect(read).to.include({ base_revision: 1, revision: 2, truncated: true })
      expect(read.summary).to.deep.equal({ settings: { frame: 1 }, removed: { mesh: 100 } })
      expect(JSON.stringify(read.changes).length).to.be.below(1100)
    },
  ],
  [
    'since that is no number is −32602',
    () =>
      serving(async ({ session }) => {
        for (const since of ['x', '-1', '1.5', '']) {
          expect(await readCode(session, `${delta}?since=${since}`), since).to.equal(-32602)
        }
      }),
  ],
  [
    'every setScene tells the subscribers of the delta',
    () =>
      serving(({ session, server }) =>
        listening(session, [`${delta}?since=0`], async events => {
          server.resources().setScene({})
          await events.until(() => events.updates.length === 1)
          expect(events.updates).to.deep.equal([`${delta}?since=0`])
        }),
      ),
  ],
])

facts('decision: scene limits', [
  ...refused.map(
    ([what, value]) =>
      [
        `${what}: a TypeError, and the old scene stays without an update`,
        () =>
          serving(({ session, server }) =>
            listening(session, ['scene://current'], async events => {
              const resources: ResourceRegistry = server.resources()
              resources.setScene({ old: true })
              expect(() => resources.setScene(value as object)).to.throw(TypeError)
              await events.until(() => events.updates.length > 0)
              expect(await session.readJson('scene://current')).to.deep.equal({ old: true })
              expect(events.updates).to.have.length(1)
            }),
          ),
      ] as const,
  ),
  [
    'a scene that refers to itself: a TypeError',
    () =>
      serving(async ({ server }) => {
        const loop: { self?: object } = {}
        loop.self = loop
        expect(() => server.resources().setScene(loop)).to.throw(TypeError)
      }),
  ],
  [
    '64 levels and 64 MiB are taken, one byte more is not',
    () =>
      serving(async ({ session, server }) => {
        server.resources().setScene(nested(64))
        expect(await session.readJson('scene://current')).to.deep.equal(nested(64))
        const text = 'x'.repeat(64 * 1024 * 1024 - '{"n":1,"t":""}'.length)
        server.resources().setScene({ n: 1, t: text })
        expect(() => server.resources().setScene({ n: 2, t: `${text}x` })).to.throw(TypeError)
        expect(await session.readJson('scene://current?pointer=/n')).to.include({ value: 1 })
      }),
  ],
])
