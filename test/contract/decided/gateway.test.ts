import { expect } from 'chai'
import { sessionRevisions } from '../../../src/server/mcp/sessions/initialize.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { entry } from '../../helpers/memory-directory.ts'
import { callStateless, listenStateless } from '../../helpers/stateless.ts'
import { listAll, listening } from '../facts.ts'
import { gatewayFacts, ids } from '../gateway-facts.ts'

gatewayFacts('decision: a gateway speaks every revision', [
  [
    'updates of gateway://instances and list_changed reach sessions of each revision',
    async ({ url, directory }) => {
      for (const revision of sessionRevisions) {
        const session = await RawSession.open(url, revision)
        await listening(session, ['gateway://instances'], async events => {
          directory.put(entry())
          await events.until(() => events.updates.length > 0, `an update, ${revision}`)
          const listChanged = 'notifications/resources/list_changed'
          await events.until(() => events.messages.some(each => each.method === listChanged))
        })
      }
    },
  ],
  [
    '2026-07-28 is told of both, too, and of one instance by a prefix; never of events',
    async ({ url, directory }) => {
      const uris = ['gateway://instances', 'gateway://instances/A1-B2-C3']
      const unpushed = ['resources://gateway/events', 'gateway://diagnostics/audit']
      const events = await listenStateless(url, {
        resourcesListChanged: true,
        resourceSubscriptions: [...uris, ...unpushed],
      })
      try {
        const { notifications } = events.messages[0].params
        expect(notifications.resourceSubscriptions).to.deep.equal(uris)
        directory.judge(ids.blender, 'dead', 'its process has ended')
        await events.until(() => events.updates.length === 2)
        expect(events.updates.toSorted()).to.deep.equal(uris)
        const listChanged = 'notifications/resources/list_changed'
        await events.until(() => events.messages.some(each => each.method === listChanged))
      } finally {
        events.close()
      }
    },
  ],
  [
    '2026-07-28 lists and reads the same',
    async ({ url, session }) => {
      const { result } = (await callStateless(url, 'resources/list')).json
      expect(result.resources).to.deep.equal(await listAll(session))
      const uri = 'gateway://instances'
      const read = await callStateless(url, 'resources/read', { uri })
      expect(JSON.parse(read.json.result.contents[0].text)).to.deep.equal(
        await session.readJson(uri),
      )
    },
  ],
  [
    '2026-07-28 has −32602 for an unknown instance, an ambiguous one and a wrong parameter',
    async ({ url }) => {
      const errorOf = async (uri: string) =>
        (await callStateless(url, 'resources/read', { uri })).json.error
      const unknown = 'gateway://instances/0123abcd'
      expect(await errorOf(unknown)).to.deep.include({ code: -32602, data: { uri: unknown } })
      const several = await errorOf('gateway://instances/a1b2')
      expect(several).to.include({ code: -32602 })
      expect(several.data.candidates).to.have.length(2)
      expect(await errorOf('gateway://instances?limit=x')).to.include({ code: -32602 })
    },
  ],
])

gatewayFacts('decision: pushes of the gateway', [
  [
    'whoever subscribed to gateway://instances hears of one that appears, changes, stales, dies',
    async ({ session, directory }) => {
      await listening(session, ['gateway://instances?verbose=1'], async events => {
        const id = '00000000-0000-4000-8000-000000000009'
        const steps = [
          () => directory.put(entry({ instanceId: id })),
          () => directory.put(entry({ instanceId: id, scene: '/other.blend' })),
          () => directory.judge(id, 'stale', 'silent'),
          () => directory.judge(id, 'dead', 'its process has ended'),
          () => directory.remove(id),
        ]
        for (const [at, step] of steps.entries()) {
          step()
          await events.until(() => events.updates.length > at)
        }
        expect(new Set(events.updates)).to.deep.equal(new Set(['gateway://instances?verbose=1']))
      })
    },
  ],
  [
    'whoever subscribed to one instance, by whatever prefix, hears of that one alone',
    async ({ session, directory }) => {
      const uri = 'gateway://instances/FFFF-00'
      await listening(session, [uri], async events => {
        directory.judge(ids.maya, 'dead', 'its process has ended')
        directory.judge(ids.houdini, 'live', 'it is back')
        await events.until(() => events.updates.length > 0)
        await session.call('ping')
        expect(events.updates).to.deep.equal([uri])
        await session.call('resources/unsubscribe', { uri })
        directory.judge(ids.houdini, 'dead', 'its process has ended')
        await session.call('resources/subscribe', { uri: 'gateway://instances' })
        directory.judge(ids.houdini, 'live', 'it is back')
        await events.until(() => events.updates.includes('gateway://instances'))
        expect(events.updates).to.deep.equal([uri, 'gateway://instances'])
      })
    },
  ],
  [
    'list_changed comes when an instance comes or goes, not when it only changes',
    async ({ session, directory }) => {
      await listening(session, ['gateway://instances'], async events => {
        const lists = () =>
          events.messages.filter(each => each.method === 'notifications/resources/list_changed')
        directory.put(entry({ instanceId: ids.blender, scene: '/other.blend' }))
        await events.until(() => events.updates.length === 1)
        const before = lists().length
        directory.judge(ids.blender, 'dead', 'its process has ended')
        await events.until(() => lists().length === before + 1)
      })
    },
  ],
])
