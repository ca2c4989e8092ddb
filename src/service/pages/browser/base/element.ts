/** Builds nodes. Every text becomes a text node, so names of checks cannot become markup. */

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

/** Creates an HTML element with these children; null and undefined are omitted. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  options: Options = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  if (options.title !== undefined) node.title = options.title;
  return filled(node, options, children);
}

/** Creates an SVG element, whose title is a child element. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  options: Omit<Options, 'title'> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), options, children);
}

/** Functions that build the parts of a result. They are passed as parameters, so the parts need no document. */
export type Tools = {
  readonly element: typeof element;
  readonly svgElement: typeof svgElement;
  readonly milliseconds: (value: unknown) => string;
  /** Saves the file at this URL of the service under this name. */
  readonly download: (url: string, name: string) => Promise<void>;
};

/** Finds the element with this id in page.html. */
export function byId(id: string): HTMLElement {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`page.html has no element with the id ${id}`);
  return node;
}

/** Finds the button or field with this id. */
export function controlById<Control extends HTMLElement>(id: string, kind: new () => Control): Control {
  const node = byId(id);
  if (!(node instanceof kind)) throw new Error(`page.html has an element of another type with the id ${id}`);
  return node;
}
