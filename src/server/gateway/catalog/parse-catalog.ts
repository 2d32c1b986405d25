import { cleanText } from '../../../lib/util/clean-text.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'
import { MemberReader } from '../../../lib/util/member-reader.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import {
  type CatalogEntry,
  type CatalogInstall,
  type CatalogPackage,
  type CatalogRequirements,
  installTypes,
  packageFormats,
  targetKinds,
} from './catalog-entry.ts'
import { EntryReader } from './entry-reader.ts'

export type CatalogParseLimits = Pick<
  GatewayLimits,
  'maxCatalogEntries' | 'maxCatalogTextChars' | 'maxCatalogItems'
>

const maxDepth = 16

/** The text of a catalog file, checked whole. The failure names the entry and the member. */
export function parseCatalog(
  text: string,
  limits: CatalogParseLimits,
): Result<readonly CatalogEntry[], string> {
  const json = parseJson(text, maxDepth)
  if (!json.ok) {
    return fail(
      json.failure === 'depth'
        ? `it nests more than ${maxDepth} levels deep`
        : 'it is not valid JSON',
    )
  }
  const top = new MemberReader(json.value, '')
  top.required('schema_version', top.integer('schema_version', 1, 1), 1)
  top.text('name')
  const values = top.any('entries')
  if (!Array.isArray(values)) top.refuse('entries', 'must be a list')
  if (top.failure !== null) return fail(describe('the catalog', top.failure))
  return parseEntries(values as unknown[], limits)
}

function parseEntries(
  values: readonly unknown[],
  limits: CatalogParseLimits,
): Result<readonly CatalogEntry[], string> {
  if (values.length > limits.maxCatalogEntries) {
    return fail(`it has more than ${limits.maxCatalogEntries} entries`)
  }
  const entries: CatalogEntry[] = []
  const places = new Map<string, number>()
  for (const [at, value] of values.entries()) {
    const reader = new EntryReader(value, '', limits)
    const parsed = reader.finish(readEntry(reader))
    if (!parsed.ok) return fail(describe(titleOf(value, at), parsed.failure))
    const { name } = parsed.value
    const before = places.get(name)
    if (before !== undefined) {
      return fail(`${titleOf(value, at)}: member name: is also that of entry ${before + 1}`)
    }
    places.set(name, at)
    entries.push(parsed.value)
  }
  return ok(entries)
}

function readEntry(from: EntryReader): CatalogEntry {
  const name = from.matching('name', nameForm, 'letters, digits, ".", "_" and "-"')
  return {
    name: from.required('name', name, ''),
    description: from.required('description', from.description('description'), ''),
    ...present({
      dcc: from.labels('dcc'),
      targets: from.objects('targets', target => ({
        kind: target.required('kind', target.word('kind', targetKinds), ''),
        id: target.required('id', target.label('id'), ''),
      })),
      url: from.url('url'),
      tags: from.labels('tags'),
      version: from.label('version'),
      min_core_version: from.label('min_core_version'),
      install: from.object('install', readInstall),
      package: from.object('package', readPackage),
      maintainer: from.label('maintainer'),
      category: from.label('category'),
      policy: from.object('policy', policy =>
        present({ installation: policy.label('installation') }),
      ),
      requires: from.object('requires', readRequirements),
      icon: from.url('icon'),
      showcase: from.urls('showcase'),
      docs: from.url('docs'),
      license: from.label('license'),
    }),
  }
}

function readInstall(from: EntryReader): CatalogInstall {
  const type = from.required('type', from.word('type', installTypes), 'path')
  const install = present({
    url: from.url('url'),
    ref: from.matching('ref', /^[0-9a-f]{40}$/, '40 hexadecimal digits in lower case'),
    sha256: from.matching('sha256', /^[0-9a-f]{64}$/, '64 hexadecimal digits in lower case'),
    skillRoots: from.labels('skillRoots'),
    pip_package: from.label('pip_package'),
    pip_extras: from.labels('pip_extras'),
    python_path: from.label('python_path'),
    entry_point: from.label('entry_point'),
    instructions_url: from.url('instructions_url'),
    command: from.labels('command'),
  })
  const needed = neededBy[type]
  if (needed !== null) from.required<unknown>(needed, install[needed], null)
  return { type, ...install }
}

/** Without which a reader could not begin. */
const neededBy = {
  git: 'url',
  zip: 'url',
  pip: 'pip_package',
  command: 'command',
  path: null,
} as const

function readPackage(from: EntryReader): CatalogPackage {
  return {
    format: from.required('format', from.word('format', packageFormats), 'adapter'),
    ...present({
      skills: from.labels('skills'),
      components: from.objects('components', component => ({
        kind: component.required('kind', component.label('kind'), ''),
        id: component.required('id', component.label('id'), ''),
        ...present({ root: component.label('root') }),
      })),
    }),
  }
}

function readRequirements(from: EntryReader): CatalogRequirements {
  return present({
    env: from.labels('env'),
    bins: from.labels('bins'),
    python: from.label('python'),
    skills: from.labels('skills'),
  })
}

/** As it stands in a URI, without any escape. */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

function titleOf(value: unknown, at: number): string {
  const name = isJsonObject(value) ? value.name : undefined
  const known = typeof name === 'string' && name.length <= 64 && nameForm.test(name)
  return known ? `entry ${at + 1} ("${name}")` : `entry ${at + 1}`
}

function describe(title: string, failure: { pointer: string; detail: string }): string {
  // The name may be any text of the file.
  const member = cleanText(failure.pointer.slice(1).replaceAll('/', '.'))
  return member === ''
    ? `${title} ${failure.detail}`
    : `${title}: member ${member}: ${failure.detail}`
}

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

/** Without the members that are undefined. */
function present<Members extends object>(members: Members): Present<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Present<Members>
}
