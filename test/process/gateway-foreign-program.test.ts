import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { newFolder } from '../helpers/cleanup.ts'
import { writeInstance } from '../helpers/instances.ts'
import { RawSession, toolCall } from '../helpers/mcp.ts'
import { skipBecause } from '../helpers/skip.ts'
import { callStateless } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import { startAggregating } from '../server/gateway/aggregating.ts'

/** A program of another account, which answers every request as if it were an instance. */
async function startForeignProgram() {
  const program = `require('http').createServer(async (req, res) => {
    console.log(req.url)
    let body = ''
    for await (const chunk of req) body += chunk
    const { id, params = {} } = JSON.parse(body || '{}')
    const contents = [{ uri: params.uri, text: '"a lie"' }]
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { contents } }))
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const child = spawn(process.execPath, ['-e', program], { uid: 65_534, cwd: '/' })
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  await once(child.stdout, 'data')
  const [port = ''] = output.split('\n')
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    /** The paths that it was asked for. */
    requests: () => output.trim().split('\n').slice(1),
    async [Symbol.asyncDispose]() {
      child.kill()
      await once(child, 'close')
    },
  }
}

describe('a program of another account at the address of an instance', () => {
  it('is never sent a request by a gateway, also without keys', async function () {
    if (process.platform !== 'linux' || process.geteuid?.() !== 0) {
      skipBecause(this, 'needs Linux and root')
    }
    await using program = await startForeignProgram()
    const registryDir = newFolder()
    const gateway = await startAggregating(registryDir)
    const forged = await writeInstance(registryDir, { url: program.url })
    const { instance_id: instance } = forged.record
    const uri = `instance://${instance}/scene/current`
    const messageOf = async () => {
      const { json } = await callStateless(gateway.url, 'resources/read', { uri })
      return String(json.error?.message)
    }
    await until(async () => !(await messageOf()).includes('no such'), 'the record')
    const refusal = `another user listens at ${new URL(program.url).host}`
    expect(await messageOf()).to.include(refusal)
    const tool = toolCall('query_scene', { instance })
    const { json } = await callStateless(gateway.url, 'tools/call', tool)
    expect(json.result.content[0].text).to.include(refusal)
    // Its followers are told when the instance can be reached.
    const session = await RawSession.open(gateway.url)
    expect((await session.call('resources/subscribe', { uri })).result).to.deep.equal({})
    const path = `/instances/${instance}/artefacts/sha256/${'0'.repeat(64)}`
    const download = await fetch(new URL(path, gateway.url))
    expect(await download.text()).to.include(refusal)
    await gateway.stop()
    await forged.remove()
    expect(program.requests().filter(path => path !== '/readyz')).to.deep.equal([])
  })
})
