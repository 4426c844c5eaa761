% octave_product.m [M N K]: Octave multiplies two single matrices, on a GPU if the BLAS adapter is preloaded.
%
%     octave-cli octave_product.m 8192 8192 8192
%     LD_PRELOAD=libsgemm_blas.so octave-cli octave_product.m 8192 8192 8192
%
% The error is that of 16 rows against the product in double, as a fraction of the bound of fp32 summation. With the
% adapter the process ends with a report on stderr, which says what computed the products. The exit status is 1 if the
% error is above the bound.
if isempty(getenv("SGEMM_BLAS_REPORT"))
  setenv("SGEMM_BLAS_REPORT", "1"); % the adapter reads its variables at the first product
end

sizes = cellfun(@str2double, argv());
if isempty(sizes)
  sizes = [2048 2048 2048];
end
m = sizes(1); n = sizes(2); k = sizes(3);
randn("state", 1);
a = randn(m, k, "single");
b = randn(k, n, "single");

seconds = zeros(1, 3);
for i = 1:3
  start = tic;
  c = a * b;
  seconds(i) = toc(start);
end

rows = unique(round(linspace(1, m, 16)));
a64 = double(a(rows, :)); b64 = double(b);
bound = (k + 2) * 2^-24 * (abs(a64) * abs(b64));
ratios = abs(double(c(rows, :)) - a64 * b64) ./ bound;
error_of_bound = max(ratios(:));
if any(isnan(ratios(:)))
  error_of_bound = NaN; % max() ignores NaN
end
words = {"without", "with"};
adapter = !isempty(strfind(fileread("/proc/self/maps"), "libsgemm_blas"));

printf("Octave %s, %s the BLAS adapter\n", version(), words{1 + adapter});
fastest = min(seconds(2:3));
printf("%d x %d x %d: first %.2f ms, then %.2f ms, %.3f TFLOP/s, error %.3g of the bound\n", m, n, k, ...
       1e3 * seconds(1), 1e3 * fastest, 2e-12 * m * n * k / fastest, error_of_bound);
exit(!(error_of_bound <= 1));
