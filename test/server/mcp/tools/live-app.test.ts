import { expect } from 'chai'
import { liveAppUri } from '../../../../src/server/resources/live-app.ts'
import { initialize, RawSession, startServer, toolCall } from '../../../helpers/mcp.ts'
import { callStateless } from '../../../helpers/stateless.ts'

const linked = { ui: { resourceUri: liveAppUri } }

describe('the live view for chats', () => {
  const starts: [enablePage: boolean, enableTools: boolean][] = [
    [true, true],
    [false, true],
    [true, false],
  ]
  let servers: Awaited<ReturnType<typeof startServer>>[]
  let sessions: RawSession[]
  before(async () => {
    const start = ([enablePage, enableTools]: [boolean, boolean]) =>
      startServer({ enablePage, enableTools })
    servers = await Promise.all(starts.map(start))
    sessions = await Promise.all(servers.map(({ url }) => RawSession.open(url)))
  })

  const listed = async (session: RawSession) => {
    const { result } = await session.call('resources/list')
    return result.resources.find(({ uri }: any) => uri === liveAppUri)
  }
  const tools = async (session: RawSession) => (await session.call('tools/list')).result.tools

  it('is listed with its policy, where there are both the page and tools', async () => {
    const [withBoth, ...others] = await Promise.all(sessions.map(listed))
    expect(withBoth).to.include({ mimeType: 'text/html;profile=mcp-app' })
    expect(withBoth._meta).to.deep.equal({ ui: { csp: {}, prefersBorder: true } })
    expect(withBoth.annotations.audience).to.deep.equal(['user'])
    expect(others).to.deep.equal([undefined, undefined])
  })

  it('is linked from look, and changes nothing else of the tools', async () => {
    const [withPage, without] = await Promise.all(sessions.slice(0, 2).map(tools))
    const expected = without.map((tool: any) =>
      tool.name === 'look' ? { ...tool, _meta: { ...tool._meta, ...linked } } : tool,
    )
    expect(withPage).to.deep.equal(expected)
  })

  it('is declared as an extension where it is served', async () => {
    const extensions = { 'io.modelcontextprotocol/ui': {} }
    for (const [at, { url }] of servers.entries()) {
      const discovered = (await callStateless(url, 'server/discover')).json.result
      const { json } = await initialize(url)
      for (const { capabilities } of [discovered, json.result]) {
        if (at === 0) expect(capabilities).to.deep.include({ extensions })
        else expect(capabilities).to.not.have.property('extensions')
      }
    }
  })

  it('gets the facts about the scene with each slice of read_resource', async () => {
    servers[0]!.server.resources().setScene({ name: 'x'.repeat(500) })
    const uri = 'scene://current'
    const { result } = await sessions[0]!.call('resources/read', { uri })
    const { _meta } = result.contents[0]
    expect(_meta['service-cli/scene']).to.include.keys('revision', 'set_at', 'application')
    for (const offset of [0, 300]) {
      const args = toolCall('read_resource', { uri, offset, max_chars: 200 })
      const [part] = (await sessions[0]!.call('tools/call', args)).result.content
      expect(part._meta).to.deep.equal(_meta)
    }
  })
})
