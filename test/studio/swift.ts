import type * as sdk from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import {
  type ArtefactBucket,
  openBucket,
  parseBucketUrl,
} from '../../src/server/artefacts/bucket.ts'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import { freePort } from '../helpers/free-port.ts'
import { skipBecause } from '../helpers/skip.ts'

/** A bucket server, OpenStack Swift with its S3 interface, of a process of the tests. */
export interface Swift {
  /** What a program needs to reach it. */
  readonly env: Readonly<Record<string, string>>
  readonly url: string
  /** The address of a new bucket, `s3://…`. */
  bucket(): Promise<string>
  open(url: string): Promise<ArtefactBucket>
  /** Runs `action` with a client that is not the one of the program. */
  withClient<Value>(action: (client: S3Client, s3: typeof sdk) => Promise<Value>): Promise<Value>
  /** The server stops to answer; what it has stored stays. */
  stop(): Promise<void>
  start(): Promise<void>
}

const programs = ['memcached', 'swift-proxy-server', 'swift-object-server']
const folders = ['/usr/bin', '/usr/local/bin']
const storage = ['account', 'container', 'object'] as const
const credentials = {
  AWS_ACCESS_KEY_ID: 'test:tester',
  AWS_SECRET_ACCESS_KEY: 'word-of-the-bucket',
}
const buckets = { made: 0 }

/** In a `before` hook; skips the suite, with the reason, where Swift is not installed. */
export async function useSwift(context: Mocha.Context): Promise<Swift> {
  const isThere = (name: string) => folders.some(each => existsSync(join(each, name)))
  if (!programs.every(isThere)) skipBecause(context, 'Swift or memcached is not installed')
  // The client reads its credentials from the environment alone.
  Object.assign(process.env, credentials)
  return startSwift()
}

async function startSwift(): Promise<Swift> {
  const home = newFolder()
  const ports = await distinctPorts(5)
  const [memcached = 0, proxy = 0, ...rest] = ports
  await writeFile(join(home, 'swift.conf'), common)
  await writeFile(join(home, 'proxy.conf'), proxyConf(home, proxy, memcached))
  for (const [at, type] of storage.entries()) {
    await writeFile(join(home, `${type}.conf`), storageConf(home, type, rest[at] ?? 0))
  }
  await mkdir(join(home, 'disks', 'd1'), { recursive: true })
  const rings = spawnSync('/usr/bin/python3', ['-c', ringScript, home, ...rest.map(String)])
  if (rings.status !== 0) throw new Error(`the rings of Swift were not made: ${rings.stderr}`)

  const children: ChildProcess[] = []
  atEnd(() => Promise.all(children.map(end)))
  const run = (name: string, ...args: string[]): ChildProcess => {
    const log = openSync(join(home, `${name}.log`), 'a')
    // Without the variable each start waits for a name server.
    const env = { ...process.env, EVENTLET_NO_GREENDNS: 'yes' }
    const child = spawn(name, args, { env, stdio: ['ignore', log, log] })
    children.push(child)
    return child
  }
  run('memcached', '-u', 'root', '-l', '127.0.0.1', '-p', String(memcached), '-m', '16')
  for (const type of storage) run(`swift-${type}-server`, join(home, `${type}.conf`))
  const url = `http://127.0.0.1:${proxy}`
  const env = { ...credentials, AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL: url }
  let server: ChildProcess | undefined

  async function start(): Promise<void> {
    server = run('swift-proxy-server', join(home, 'proxy.conf'))
    await until(() => answers(`${url}/healthcheck`), 'Swift answers')
  }

  const open = (address: string) =>
    openBucket(parseBucketUrl(address, 'the test'), join(home, 'spool'), env)

  async function withClient<Value>(
    action: (client: S3Client, s3: typeof sdk) => Promise<Value>,
  ): Promise<Value> {
    const s3 = await import('@aws-sdk/client-s3')
    const client = new s3.S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true })
    try {
      return await action(client, s3)
    } finally {
      client.destroy()
    }
  }

  // A storage server that is not there when it is asked is asked again only after a minute.
  for (const port of [memcached, ...rest]) await until(() => accepts(port), `port ${port} is open`)
  await start()
  return {
    env,
    url,
    open,
    start,
    withClient,
    async bucket() {
      const Bucket = `bucket-${++buckets.made}`
      await withClient((client, s3) => client.send(new s3.CreateBucketCommand({ Bucket })))
      return `s3://${Bucket}`
    },
    async stop() {
      if (server !== undefined) await end(server)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function distinctPorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}

const common = `[swift-hash]
swift_hash_path_suffix = test
swift_hash_path_prefix = test
[storage-policy:0]
name = one
default = yes
`

function storageConf(home: string, type: string, port: number): string {
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
user = root
swift_dir = ${home}
devices = ${join(home, 'disks')}
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
workers = 0
[pipeline:main]
pipeline = ${type}-server
[app:${type}-server]
use = egg:swift#${type}
`
}

function proxyConf(home: string, port: number, memcached: number): string {
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
user = root
swift_dir = ${home}
workers = 0
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${memcached}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = ${credentials.AWS_SECRET_ACCESS_KEY} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
`
}

/** One disk for everything, in one process instead of nine commands. */
const ringScript = `
import sys
from os.path import join
from swift.common.ring import RingBuilder
home, *ports = sys.argv[1:]
for name, port in zip(('account', 'container', 'object'), ports):
    builder = RingBuilder(4, 1, 0)
    builder.add_dev(dict(id=0, region=1, zone=1, ip='127.0.0.1', port=int(port), device='d1',
        weight=1, replication_ip='127.0.0.1', replication_port=int(port), meta=''))
    builder.rebalance()
    builder.get_ring().save(join(home, name + '.ring.gz'))
`
