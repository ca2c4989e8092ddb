/**
 * A small shop for browser checks: a list that a script fetches and filters, a cart, and a form with a reply. Its last
 * part (`?broken`) logs an error and requests an image that does not exist.
 */
export function shopPage(broken: boolean): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sample shop</title>
<link rel="icon" href="data:,">
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem; color: #1c2733 }
li { display: flex; gap: 1rem; align-items: center; padding: .4rem 0; border-bottom: 1px solid #dde3ea }
li span { flex: 1 } button { padding: .3rem .8rem } input { padding: .3rem; width: 100%; box-sizing: border-box }
</style>
</head>
<body>
<h1>Sample shop</h1>
<label>Search <input id="search" autocomplete="off"></label>
<ul id="products" aria-label="Products"></ul>
<p>Cart: <span id="cart">0</span> items</p>
<form id="order">
  <label>Email <input id="email" type="email" required></label>
  <button>Order</button>
</form>
<p id="answer" role="status"></p>
${broken ? '<img src="/status/404" alt="missing"><script>console.error("the shop window is broken")</script>' : ''}
<script>
const list = document.querySelector('#products');
const cart = document.querySelector('#cart');
let products = [];
function show() {
  const wanted = document.querySelector('#search').value.toLowerCase();
  list.replaceChildren(...products.filter(({ name }) => name.includes(wanted)).map(({ name, price }) => {
    const item = document.createElement('li');
    const text = document.createElement('span');
    text.textContent = name + ', ' + price.toFixed(2);
    const button = document.createElement('button');
    button.textContent = 'Add ' + name;
    button.onclick = () => { cart.textContent = Number(cart.textContent) + 1; };
    item.append(text, button);
    return item;
  }));
}
document.querySelector('#search').oninput = show;
document.querySelector('#order').onsubmit = async (event) => {
  event.preventDefault();
  const response = await fetch('/echo', { method: 'POST', body: JSON.stringify({ items: Number(cart.textContent) }) });
  const { body } = await response.json();
  document.querySelector('#answer').textContent = 'Ordered ' + JSON.parse(body).items + ' items';
};
fetch('/json').then((response) => response.json()).then(({ items }) => { products = items; show(); });
</script>
</body>
</html>
`;
}
