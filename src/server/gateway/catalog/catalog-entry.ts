/** One package of a catalog. Member names are those of the file and of the wire (docs/catalog.md). */
export interface CatalogEntry {
  readonly name: string
  readonly description: string
  readonly dcc?: readonly string[]
  readonly targets?: readonly { readonly kind: string; readonly id: string }[]
  readonly url?: string
  readonly tags?: readonly string[]
  readonly version?: string
  readonly min_core_version?: string
  readonly install?: CatalogInstall
  readonly package?: CatalogPackage
  readonly maintainer?: string
  readonly category?: string
  readonly policy?: { readonly installation?: string }
  readonly requires?: CatalogRequirements
  readonly icon?: string
  readonly showcase?: readonly string[]
  readonly docs?: string
  readonly license?: string
}

/** How the package is installed; shown to clients, never executed. */
export interface CatalogInstall {
  readonly type: (typeof installTypes)[number]
  readonly url?: string
  readonly ref?: string
  readonly sha256?: string
  readonly skillRoots?: readonly string[]
  readonly pip_package?: string
  readonly pip_extras?: readonly string[]
  readonly python_path?: string
  readonly entry_point?: string
  readonly instructions_url?: string
  readonly command?: readonly string[]
}

export interface CatalogPackage {
  readonly format: (typeof packageFormats)[number]
  readonly skills?: readonly string[]
  readonly components?: readonly {
    readonly kind: string
    readonly id: string
    readonly root?: string
  }[]
}

export interface CatalogRequirements {
  readonly env?: readonly string[]
  readonly bins?: readonly string[]
  readonly python?: string
  readonly skills?: readonly string[]
}

export const installTypes = ['git', 'zip', 'path', 'pip', 'command'] as const

export const targetKinds = ['dcc', 'application', 'game', 'web'] as const

export const packageFormats = [
  'adapter',
  'skill',
  'skill-bundle',
  'agent-plugin',
  'cua-profile',
  'composite',
] as const
