import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { JWK } from 'jose'
import { parseIssuerUrl } from '../../../src/lib/auth/oauth-config.ts'
import { defaultAuthLimits } from '../../../src/server/auth/limits.ts'
import {
  createKeyLoader,
  metadataUrls,
  parseProviderMetadata,
} from '../../../src/server/auth/oauth/provider.ts'
import { newKey, publicOf } from '../../helpers/openid.ts'

const limits = { ...defaultAuthLimits, maxProviderBytes: 4096 }

describe('parseIssuerUrl', () => {
  const taken = [
    'https://login.example',
    'https://login.example/realms/a',
    'http://127.0.0.1:8080/realms/a',
    'http://localhost',
  ]
  it('takes addresses as they are', () => {
    for (const text of taken) {
      expect(parseIssuerUrl(text)).to.deep.equal({ ok: true, value: text })
    }
  })

  const refused = [
    '',
    'http://10.0.0.1',
    'http://127.0.0.1.evil.example',
    'ftp://login.example',
    'https://login.example/#a',
    'https://',
  ]
  it('refuses plain http to another machine, and what is more or less than an address', () => {
    for (const text of ['https://ada:secret@login.example', ...refused]) {
      expect(parseIssuerUrl(text).ok, text).to.equal(false)
    }
  })
})

describe('the description of a provider', () => {
  const oauth = '/.well-known/oauth-authorization-server'
  const openid = '/.well-known/openid-configuration'
  const asked: [issuer: string, urls: string[]][] = [
    ['https://h', [`https://h${oauth}`, `https://h${openid}`]],
    [
      'https://h/r/a',
      [`https://h${oauth}/r/a`, `https://h${openid}/r/a`, `https://h/r/a${openid}`],
    ],
    ['https://h/r/', [`https://h${oauth}/r`, `https://h${openid}/r`, `https://h/r${openid}`]],
  ]
  for (const [issuer, urls] of asked) {
    it(`of ${issuer} is looked for at ${urls.length} places`, () => {
      expect(metadataUrls(issuer)).to.deep.equal(urls)
    })
  }

  const issuer = 'https://login.example'
  const good = { issuer, jwks_uri: 'https://keys.example/jwks' }
  const documents: [string, unknown, isTaken: boolean][] = [
    ['with keys elsewhere', good, true],
    ['of another issuer', { ...good, issuer: 'https://evil.example' }, false],
    ['without an issuer', { jwks_uri: good.jwks_uri }, false],
    ['without keys', { issuer }, false],
    ['with keys on this machine', { ...good, jwks_uri: 'http://127.0.0.1/jwks' }, false],
    ['with keys in a file', { ...good, jwks_uri: 'file:///etc/passwd' }, false],
    ['that is null', null, false],
  ]
  for (const [title, document, isTaken] of documents) {
    it(`${title} is ${isTaken ? 'taken' : 'refused'}`, () => {
      expect(parseProviderMetadata(document, issuer).ok).to.equal(isTaken)
    })
  }
})

describe('asking a provider for its keys', () => {
  let server: Server
  let issuer: string
  let key: JWK
  let asked: string[]
  let nowMs: number
  let answer: (path: string, res: ServerResponse) => void
  let load: () => Promise<unknown>

  beforeEach(async () => {
    key = await newKey('k')
    asked = []
    nowMs = 0
    const listener: RequestListener = (req, res) => {
      asked.push(req.url ?? '')
      answer(req.url ?? '', res)
    }
    server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/a`
    const ticks = { now: () => nowMs }
    const loader = createKeyLoader({ issuer, limits, ticks })
    load = async () => {
      const loaded = await loader(new AbortController().signal)
      return loaded.ok ? (await loaded.value.find('ES256', 'k')) !== null : loaded.failure
    }
    answer = (path, res) => {
      if (path === '/jwks') json(res, { keys: [publicOf(key)] })
      else if (path.startsWith('/.well-known/oauth')) json(res, description())
      else res.writeHead(404).end()
    }
  })

  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const description = () => ({ issuer, jwks_uri: new URL('/jwks', issuer).href })

  function json(res: ServerResponse, value: unknown): void {
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify(value))
  }

  it('finds them by what the provider says of itself', async () => {
    expect(await load()).to.equal(true)
    expect(asked).to.deep.equal(['/.well-known/oauth-authorization-server/realms/a', '/jwks'])
  })

  it('asks for it again when the keys are gone from where they were', async () => {
    await load()
    const before = answer
    let place = '/jwks2'
    answer = (path, res) => {
      if (path === '/jwks') res.writeHead(410).end()
      else if (path === place) json(res, { keys: [publicOf(key)] })
      else if (path.startsWith('/.well-known/oauth')) {
        json(res, { issuer, jwks_uri: new URL(place, issuer).href })
      } else before(path, res)
    }
    expect(await load()).to.contain('status 410')
    expect(await load()).to.equal(true)
  })

  it('takes the OpenID form where there is no other', async () => {
    answer = (path, res) => {
      if (path === '/jwks') json(res, { keys: [publicOf(key)] })
      else if (path === '/realms/a/.well-known/openid-configuration') json(res, description())
      else res.writeHead(404).end()
    }
    expect(await load()).to.equal(true)
    expect(asked).to.have.lengthOf(4)
  })

  const bad: [title: string, answer: (res: ServerResponse) => void, why: string][] = [
    ['a redirect', res => res.writeHead(302, { Location: '/elsewhere' }).end(), 'status 302'],
    ['an error', res => res.writeHead(500).end(), 'status 500'],
    ['an empty answer', res => res.writeHead(204).end(), 'status 204'],
    ['no JSON', res => res.end('<html>'), 'is not JSON'],
    ['too much', res => res.end(JSON.stringify('x'.repeat(5000))), 'more than 4096 bytes'],
    [
      'too much when unpacked',
      res =>
        res
          .setHeader('Content-Encoding', 'gzip')
          .end(gzipSync(JSON.stringify('x'.repeat(1_000_000)))),
      'more than 4096 bytes',
    ],
    [
      'half an answer',
      res => {
        res.writeHead(200, { 'Content-Length': '100' })
        res.write('{', () => res.destroy())
      },
      'cannot be reached',
    ],
  ]
  for (const [title, send, why] of bad) {
    it(`says so when it gets ${title}`, async () => {
      const before = answer
      answer = (path, res) => (path === '/jwks' ? send(res) : before(path, res))
      expect(await load()).to.contain(why)
      answer = (_path, res) => send(res)
      expect(await load()).to.contain(why)
      expect(asked).not.to.include('/elsewhere')
    })
  }

  it('does not wait for ever', async () => {
    answer = () => {}
    const hasty = { ...limits, providerTimeoutMs: 200 }
    const loader = createKeyLoader({ issuer, limits: hasty, ticks: { now: () => 0 } })
    const loaded = await loader(new AbortController().signal)
    expect(loaded.ok || loaded.failure).to.contain('within 200 ms')
    expect(asked).to.have.lengthOf(1)
  })
})
