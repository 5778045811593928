"""Style and script of the HTML page, as it carries them within itself."""

STYLE = """
:root{--ink:#1b1f24;--soft:#5b6470;--line:#d8dee6;--paper:#fff;--tint:#f4f7fa;--blue:#0062a3;--warn:#8a3b00}
*{box-sizing:border-box}
body{margin:0;color:var(--ink);background:var(--paper);
font:16px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans CJK SC",sans-serif}
header{padding:1.2rem 1rem .6rem;border-bottom:1px solid var(--line);background:var(--tint)}
header h1{margin:0 auto;max-width:70rem;font-size:1.5rem;overflow-wrap:anywhere}
nav{max-width:70rem;margin:.6rem auto 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem}
nav a,a{color:var(--blue)}
main{max-width:70rem;margin:0 auto;padding:0 1rem 3rem}
section{padding-top:.4rem}
h2{font-size:1.2rem;margin:1.6rem 0 .5rem;border-bottom:2px solid var(--line);padding-bottom:.2rem}
p,li{max-width:52rem;overflow-wrap:anywhere}
.headline{display:flex;flex-wrap:wrap;align-items:baseline;gap:.2rem .8rem;margin:.8rem 0;padding:.7rem 1rem;
background:var(--tint);border-left:5px solid var(--blue);max-width:52rem;font-size:1.1rem}
.headline b{font-size:2.4rem;line-height:1.1;font-variant-numeric:tabular-nums}
.facts{display:grid;grid-template-columns:minmax(9rem,13rem) 1fr;gap:.55rem 1.2rem;max-width:60rem;margin:1rem 0}
.facts dt{font-weight:600}
.facts dd{margin:0;overflow-wrap:anywhere}
.tall{max-height:34rem;overflow-y:auto;border:1px solid var(--line);display:inline-block}
.strong{font-weight:600;color:var(--warn);border-left:4px solid var(--warn);padding-left:.7rem}
.note{color:var(--soft);font-size:.85rem;margin:.2rem 0 .8rem}
.wide{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.88rem;margin:.5rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0;max-width:calc(100vw - 2.5rem)}
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top;max-width:20rem;
overflow-wrap:break-word}
td.n{text-align:right;white-space:nowrap}
th{background:var(--tint);position:sticky;top:0;word-break:keep-all}
th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible{outline:2px solid var(--blue)}
th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}
pre{background:var(--tint);border:1px solid var(--line);padding:.6rem;overflow-x:auto;font-size:.85rem}
figure{margin:1rem 0}
figure svg{max-width:100%;height:auto;min-width:20rem}
figcaption{color:var(--soft);font-size:.88rem}
.menus{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin:.6rem 0;align-items:center}
select{font:inherit;max-width:14rem;padding:.15rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:1rem}
.tile{border:1px solid var(--line);border-radius:4px;padding:.5rem;min-width:0}
.tile p{margin:.3rem 0 0;font-size:.88rem;overflow-wrap:anywhere}
.panels{display:grid;grid-template-columns:repeat(var(--panels,4),1fr);gap:.25rem}
.panels figure{margin:0}
.panels img{width:100%;display:block;background:#ddd;image-rendering:auto}
.panels figcaption{font-size:.72rem;text-align:center;overflow-wrap:anywhere}
.seen{color:var(--soft);font-size:.9rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0;margin:.4rem 0 .8rem;font-size:.88rem;
max-width:none}
.legend i{display:inline-block;width:.9em;height:.9em;margin-right:.35em;border:1px solid var(--soft);
vertical-align:-.1em}
[hidden]{display:none!important}
@media print{nav,.menus{display:none}}
@media (max-width:40rem){figure svg{max-width:none;min-width:0}table{width:max-content}
.facts{grid-template-columns:1fr;gap:.1rem}.facts dd{margin-bottom:.7rem}}
@media print{.tall{max-height:none}}
@media (max-width:30rem){.panels{grid-template-columns:repeat(2,1fr)}header h1{font-size:1.2rem}}
"""

SCRIPT = """
(function(){'use strict';
function value(row,at){var cell=row.children[at];return cell.dataset.v!==undefined?parseFloat(cell.dataset.v):null}
document.querySelectorAll('th button').forEach(function(button){button.addEventListener('click',function(){
 var head=button.parentNode,table=head.closest('table'),body=table.tBodies[0],at=head.cellIndex;
 var up=head.getAttribute('aria-sort')!=='ascending';
 table.querySelectorAll('th').forEach(function(other){other.removeAttribute('aria-sort')});
 head.setAttribute('aria-sort',up?'ascending':'descending');
 var rows=Array.prototype.slice.call(body.rows);
 rows.sort(function(one,two){var a=value(one,at),b=value(two,at);
  if(a===null&&b===null){a=one.children[at].textContent;b=two.children[at].textContent;
   return (up?1:-1)*a.localeCompare(b,undefined,{numeric:true})}
  if(a===null)return 1;if(b===null)return -1;return (up?1:-1)*(a-b)});
 rows.forEach(function(row){body.appendChild(row)})})});
document.querySelectorAll('.gallery').forEach(function(gallery){
 var menus=gallery.querySelectorAll('select'),tiles=gallery.querySelectorAll('.tile');
 function show(){var seen=0;tiles.forEach(function(tile){var fits=true;menus.forEach(function(menu){
   if(menu.selectedIndex<1)return;
   fits=fits&&JSON.parse(tile.dataset[menu.dataset.filter]).indexOf(menu.value)>=0});
  tile.hidden=!fits;if(fits)seen++});gallery.querySelector('output').textContent=seen}
 menus.forEach(function(menu){menu.addEventListener('change',show)})})})();
"""
