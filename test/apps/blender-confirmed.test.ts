import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type LinkedBlender,
  needWindowedBlender,
  startLinkedBlender,
} from '../helpers/linked-blender.ts'

const changes = 100

describe('the scene of a Blender with a window', function () {
  this.timeout(400_000)
  let linked: LinkedBlender
  let client: Client

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender({ deadlineMs: 380_000 })
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(linked.serving.url)))
  })
  after(async () => {
    await client?.close()
    await linked?.stop()
  })

  async function call(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { content } = (await client.callTool({ name, arguments: args })) as any
    return String(content[0].text)
  }
  const isDoubted = (text: string) => /not confirm/.test(text)

  it('is confirmed within a second of a change, while Blender still draws it', async () => {
    const doubted: string[] = []
    for (let at = 0; at < changes; at++) {
      const waiting = call('wait_for_change')
      await linked.blender.tell('move')
      const woken = await waiting
      expect(woken).to.include('Cube moved 1.00 along x')
      await sleep((at * 97) % 1000)
      doubted.push(...[woken, await call('scene_changes')].filter(isDoubted))
    }
    expect(doubted).to.have.length.below(2)
  })

  it('is not while Blender is busy with other work, and is again after that', async () => {
    const frozen = linked.blender.tell('freeze')
    await sleep(500)
    const [first, second] = [await call('scene_changes'), await call('scene_changes')]
    expect([first, second].map(isDoubted)).to.deep.equal([true, true])
    await frozen
    expect(isDoubted(await call('scene_changes'))).to.equal(false)
  })
})
