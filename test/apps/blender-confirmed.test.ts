import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LinkedBlender, needWindowedBlender, startLinkedBlender } from '../helpers/linked-blender.ts'

const changes = Number(process.env.N ?? 100)

describe('the scene within a second of a change, with a window at rest', function () {
  this.timeout(600_000)
  let linked: LinkedBlender
  let client: Client

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender({ deadlineMs: 500_000 })
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(linked.serving.url)))
  })
  after(async () => {
    console.log(linked.serving.log().split("\n").filter(l => l.startsWith("T ")).slice(-60).join("\n")); await client?.close()
    await linked?.stop()
  })

  async function call(name: string, args: Record<string, unknown> = {}) {
    const { content } = (await client.callTool({ name, arguments: args })) as any
    return String(content[0].text)
  }

  it('is confirmed', async () => {
    let unconfirmedWaits = 0
    let unconfirmedReads = 0
    const took: number[] = []
    for (let at = 0; at < changes; at++) {
      const waiting = call('wait_for_change', { timeout_s: 20 })
      await sleep(50)
      const told = await linked.blender.tell("move")
      const t0 = Date.now(); console.log("T told move", told, t0)
      const text = await waiting
      if (/confirm/.test(text)) unconfirmedWaits++
      await sleep((at * 97) % 1000)
      const t1 = Date.now()
      const said = await call('scene_changes')
      took.push(Date.now() - t1)
      if (/confirm/.test(said)) unconfirmedReads++
      console.log("T got", t1, t1 - t0)
    }
    took.sort((a, b) => a - b)
    console.log({ unconfirmedWaits, unconfirmedReads, p50: took[50], p95: took[95], max: took[99] })
    expect(unconfirmedWaits + unconfirmedReads).to.be.below(2)
  })
})
