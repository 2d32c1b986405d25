import { expect } from 'chai'
import { rpc } from '../helpers/mcp.ts'
import { audit, failure, readFailure, scene, useServer } from './support.ts'

describe('resources/read', () => {
  const section = useServer()

  const unknown = [
    'nowhere://x',
    'scene://other',
    'audit://all',
    'events://other',
    'capture://desktop',
    'gateway://instances',
    'resources://gateway/events',
    'scene:current',
    'scene://current#part',
  ]
  it('is −32002 with data.uri for an unknown scheme and an unknown URI of a known one', async () => {
    for (const uri of unknown) {
      const error = await readFailure(section.session, uri)
      expect(error, uri).to.deep.include({ code: -32002, data: { uri } })
    }
  })

  const wrong: [string, unknown][] = [
    ['missing', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', { href: scene }],
    ['empty', ''],
    ['without a scheme', 'current'],
    ['with a space', 'scene://current x'],
    ['with a broken escape', 'scene://%zz'],
    ['with an escape that is no UTF-8', 'events://session/%ff'],
    ['with a raw character beyond ASCII', 'events://session/é'],
    ['over 2048 characters', `scene://current?x=${'a'.repeat(2048)}`],
  ]
  it('is −32602 with a short message for a malformed uri', async () => {
    for (const [what, uri] of wrong) {
      const answer = await section.session.post(rpc('resources/read', { uri }))
      expect(answer.json.error.code, what).to.equal(-32602)
      expect(answer.json.error.message, what).to.match(/^uri /)
      expect(answer.text.length, what).to.be.below(250)
    }
  })

  it('takes a URI of 2048 characters', async () => {
    const uri = `${audit}?x=${'a'.repeat(2048 - `${audit}?x=`.length)}`
    expect(await section.session.readJson(uri)).to.include({ count: 0 })
  })

  it('ignores unknown query parameters, but on scene:// names the known ones', async () => {
    expect(await section.session.readJson(`${audit}?colour=red&limit=2`)).to.include({ limit: 2 })
    const { code, message } = await readFailure(section.session, 'scene://delta?colour=red')
    expect(code).to.equal(-32602)
    expect(message).to.contain('since')
  })

  it('refuses a repeated query parameter, in any spelling', async () => {
    for (const query of ['limit=1&limit=2', 'limit=1&%6cimit=1', 'x&x']) {
      const { code } = await readFailure(section.session, `${audit}?${query}`)
      expect(code, query).to.equal(-32602)
    }
  })

  it('decodes query parameters once', async () => {
    expect(await section.session.readJson(`${audit}?limit=%32`)).to.include({ limit: 2 })
    expect((await readFailure(section.session, `${audit}?limit=%2532`)).code).to.equal(-32602)
  })
})

describe('resources/list', () => {
  const section = useServer()

  it('refuses a cursor that it did not give with −32602', async () => {
    const ofArtefacts = Buffer.from('a').toString('base64url')
    for (const cursor of ['1', 'nonsense', ofArtefacts, '', 5, null, {}, 'x'.repeat(5000)]) {
      const { code } = await failure(section.session, 'resources/list', { cursor })
      expect(code, JSON.stringify(cursor)).to.equal(-32602)
    }
  })
})
