import { expect } from 'chai'
import { RawSession, startServer } from '../../../helpers/mcp.ts'

describe('a refused call of a tool', () => {
  let server: Awaited<ReturnType<typeof startServer>>
  let session: RawSession
  beforeEach(async () => {
    server = await startServer({ enableTools: true })
    session = await RawSession.open(server.url)
  })
  afterEach(() => server.stop())

  const refusal = async (name: string, args: object): Promise<string> => {
    const { result } = await session.call('tools/call', { name, arguments: args })
    expect(result.isError, name).to.equal(true)
    return result.content[0].text
  }

  it('names the way to a value that does not fit', async () => {
    server.server.resources().setScene({ deep: { ['x'.repeat(3000)]: { y: { z: 1 } } } })
    const text = await refusal('query_scene', { pointer: '/deep', max_chars: 500 })
    expect(text).to.match(
      /^argument_invalid: .*max_chars \(500\).*choose fields, or a deeper pointer/,
    )
  })

  it('says that a revision and a checkpoint exclude each other', async () => {
    const text = await refusal('scene_changes', { since: 1, checkpoint: 'a' })
    expect(text).to.equal('argument_invalid: since and checkpoint exclude each other')
  })

  it('tells nothing of a failure inside the server', async () => {
    const resources = server.server.resources()
    resources.read = () => {
      throw new Error('a secret path')
    }
    const text = await refusal('read_resource', { uri: 'scene://current' })
    expect(text).to.equal('internal: the tool failed; see the log of the server')
  })
})
