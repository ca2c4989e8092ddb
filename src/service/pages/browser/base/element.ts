/** Building nodes. Every text becomes a text node, so names from checks cannot become markup. */

export type Child = Node | string | null | undefined;
export type Options = {
  class?: string | undefined;
  title?: string;
  attributes?: { readonly [name: string]: string };
};

function filled<Made extends Element>(node: Made, options: Options, children: readonly Child[]): Made {
  if (options.class !== undefined && options.class !== '') node.setAttribute('class', options.class);
  for (const [name, value] of Object.entries(options.attributes ?? {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element with these children; null and undefined are left out. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  options: Options = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  if (options.title !== undefined) node.title = options.title;
  return filled(node, options, children);
}

/** The same for SVG, whose titles are elements. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  options: Omit<Options, 'title'> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), options, children);
}

/** What the parts of a result are built with. They are handed down, so that those parts need no document. */
export type Tools = {
  readonly element: typeof element;
  readonly svgElement: typeof svgElement;
  readonly milliseconds: (value: unknown) => string;
  /** Saves the file at this URL of the service under this name. */
  readonly download: (url: string, name: string) => Promise<void>;
};

/** The element with this id in page.html. */
export function byId(id: string): HTMLElement {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`page.html has no such element: ${id}`);
  return node;
}

/** The button or the field with this id. */
export function controlById<Control extends HTMLElement>(id: string, kind: new () => Control): Control {
  const node = byId(id);
  if (!(node instanceof kind)) throw new Error(`page.html has another element as ${id}`);
  return node;
}
