import { expect } from 'chai'
import { checkArtefactMediaType, checkJsonMediaType } from '../../../src/server/host/guards.ts'
import { isLocalPeer } from '../../../src/server/http/trusted-proxies.ts'

function expectTaken(check: () => void, isTaken: boolean): void {
  if (isTaken) expect(check).not.to.throw()
  else expect(check).to.throw().with.property('code', 'media_type_unsupported')
}

describe('guards of the host link', () => {
  const peers: [peer: string | undefined, reached: string | undefined, isLetIn: boolean][] = [
    ['127.8.9.10', '127.0.0.1', true],
    ['::1', '::1', true],
    ['::FFFF:127.0.0.1', undefined, true],
    ['192.168.1.5', '192.168.1.5', true],
    ['192.168.1.5', '::ffff:192.168.1.5', true],
    ['fd00::2', 'FD00::2', true],
    ['192.168.1.6', '192.168.1.5', false],
    ['192.168.1.5', '127.0.0.1', false],
    ['192.168.1.5', undefined, false],
    ['10.127.0.0.1', '127.0.0.1', false],
    ['::ffff:10.0.0.1', '127.0.0.1', false],
    ['127.0.0.1.example', '127.0.0.1', false],
    ['', '', false],
    [undefined, undefined, false],
  ]
  for (const [peer, reached, isLetIn] of peers) {
    it(`${isLetIn ? 'let in' : 'refuse'} ${peer} at ${reached}`, () => {
      expect(isLocalPeer(peer, reached)).to.equal(isLetIn)
    })
  }

  it('take JSON in UTF-8 alone as JSON', () => {
    const types: [type: string | undefined, isTaken: boolean][] = [
      ['Application/JSON;charset=utf-8', true],
      ['application/json; charset="UTF-8"', true],
      ['application/json; charset=utf-16', false],
      ['application/jsonx', false],
      [undefined, false],
    ]
    for (const [type, isTaken] of types) {
      expectTaken(() => checkJsonMediaType(type), isTaken)
    }
  })

  it('take any well-formed type but forms as an artefact', () => {
    const types: [type: string | undefined, isTaken: boolean][] = [
      [undefined, true],
      ['application/vnd.usd+zip', true],
      ['text/plain; name="a b"', true],
      ['', false],
      ['png', false],
      ['image/png, text/html', false],
      ['image/png; charset', false],
      ['a/b; c=\t', false],
      [`a/b; c=${'x'.repeat(256)}`, false],
      ['multipart/form-data; boundary=x', false],
      ['application/x-www-form-urlencoded', false],
    ]
    for (const [type, isTaken] of types) {
      expectTaken(() => checkArtefactMediaType(type), isTaken)
    }
  })
})
