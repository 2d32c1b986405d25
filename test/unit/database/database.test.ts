import { expect } from 'chai'
import { databaseName, parseDatabaseUrl } from '../../../src/server/database/settings.ts'
import { failureOf } from '../../helpers/failure.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { openDatabase } from '../../../src/server/database/database.ts'
import { freePort } from '../../helpers/free-port.ts'

const parse = (text: string) => parseDatabaseUrl(text, '--database')

describe('the address of a PostgreSQL database', () => {
  it('has a name for messages without user and password', () => {
    const url = parse('postgres://a%40b:p%2Fw@db.studio.example:6543/studio')
    expect(databaseName(url)).to.equal('db.studio.example:6543/studio')
    expect(databaseName(parse('postgresql://localhost/studio'))).to.equal('localhost:5432/studio')
  })

  const modes: [url: string, mode: string][] = [
    ['postgres://db/studio', 'verify-full'],
    ['postgres://db/studio?sslmode=disable', 'disable'],
    ['postgres://[::1]/studio', 'disable'],
    ['postgres://localhost/studio?sslmode=verify-full', 'verify-full'],
    ['postgres:///studio?host=/run/postgresql', 'disable'],
  ]
  for (const [url, mode] of modes) {
    it(`has sslmode=${mode} for ${url}`, () => {
      expect(parse(url).searchParams.get('sslmode')).to.equal(mode)
    })
  }

  const refused: [url: string, message: RegExp][] = [
    ['', /is not the address/],
    ['postgres://a:word@db:port/studio', /is not the address/],
    ['postgres://a:word@db', /names no database/],
    ['postgres:///studio', /names no host/],
    ['postgres://a:word%@db/studio', /invalid %/],
    ['postgres://a:word@db/studio?sslmode=prefer', /sslmode=prefer/],
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

describe('a PostgreSQL database', () => {
  it('that cannot be reached is named without its password', async () => {
    const url = new URL(`postgres://ada:secret@127.0.0.1:${await freePort()}/studio`)
    const { db } = await openDatabase<{ accounts: { id: string } }>({
      dataDir: '',
      url,
      create: true,
    })
    const error = await db
      .selectFrom('accounts')
      .select('id')
      .execute()
      .catch((thrown: unknown) => thrown)
    await db.destroy()
    expect(error).to.be.instanceOf(ServiceError).and.include({ code: 'storage_failed' })
    expect((error as Error).message)
      .to.include(`127.0.0.1:${url.port}/studio`)
      .and.not.include('secret')
  })
})
