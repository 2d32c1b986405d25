import { expect } from 'chai'
import { databaseName, parseDatabaseUrl } from '../../src/server/database/settings.ts'
import { failureOf } from '../helpers/failure.ts'

const parse = (text: string) => parseDatabaseUrl(text, '--database')

describe('the address of a PostgreSQL database', () => {
  it('has user, password, host, port and database, decoded', () => {
    const settings = parse('postgres://a%40b:p%2Fw@db.studio.example:6543/my%20studio')
    expect(settings).to.include({
      host: 'db.studio.example',
      port: 6543,
      database: 'my studio',
      user: 'a@b',
    })
    expect(settings.password?.reveal()).to.equal('p/w')
    expect(JSON.stringify(settings)).not.to.contain('p/w')
    expect(databaseName(settings)).to.equal('db.studio.example:6543/my studio')
  })

  it('leaves out what has a default', () => {
    const settings = parse('postgresql://localhost/studio')
    expect(settings).to.include({ port: 5432, user: undefined, password: undefined })
  })

  const tls: [url: string, tls: boolean][] = [
    ['postgres://db/studio', true],
    ['postgres://db/studio?sslmode=disable', false],
    ['postgres://[::1]/studio', false],
    ['postgres://localhost/studio?sslmode=verify-full', true],
    ['postgres:///studio?host=/run/postgresql', false],
  ]
  for (const [url, wanted] of tls) {
    it(`${wanted ? 'verifies a certificate' : 'uses no TLS'} for ${url}`, () => {
      expect(parse(url).tls).to.equal(wanted)
    })
  }

  const refused: [url: string, message: RegExp][] = [
    ['', /is not the address/],
    ['postgres://a:word@db:port/studio', /is not the address/],
    ['postgres://a:word@db', /names no database/],
    ['postgres:///studio', /names no host/],
    ['postgres://a:word%@db/studio', /invalid %/],
    ['postgres://a:word@db/studio?sslmode=prefer', /sslmode=prefer/],
    ['postgres://a:word@db/studio?schema=x', /unknown parameter schema/],
  ]
  for (const [url, message] of refused) {
    it(`is refused when it is "${url}", without its password`, async () => {
      const failure = await failureOf(() => parse(url))
      expect(failure.code).to.equal('usage_invalid')
      expect(failure.message).to.match(message)
      expect(failure.message).not.to.contain('word')
    })
  }
})
