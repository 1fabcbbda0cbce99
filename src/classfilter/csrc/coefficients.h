/* SPDX-License-Identifier: MIT */
/* Polynomial coefficients, lowest power first, by tests/core/c/fit_coefficients.py; do not edit.
   With h = x + CF_SHIFT - 1/2 and w = 1 / h^2:
     digamma(x + CF_SHIFT)   = log h + w CF_PSI0(w)
     trigamma(x + CF_SHIFT)  = (1 + w CF_PSI1(w)) / h
     tetragamma(x + CF_SHIFT) = -(1 + w CF_PSI2(w)) / h^2
   The derivatives only set the length of steps, and have as many terms as that needs.
   log((1 + s) / (1 - s)) = s (2 + s^2 CF_LOG(s^2));  exp(r) = 1 + r + r^2 CF_EXP(r).
   log2((1 + t) / (1 - t)) = t CF_LOG2(t^2), with the absolute error of the whole;
   2^r = 1 + r CF_EXP2(r), with the relative error of the whole. */
/* clang-format off */

#ifdef CF_FLOAT
#define CF_SHIFT 4
/* error 5.6e-8 */
#define CF_PSI0 {4.1666609e-2f, -7.27886548e-3f, 3.40781854e-3f}
/* error 1.6e-5 */
#define CF_PSI1 {-8.33160679e-2f, 2.7451305e-2f}
/* error 0.0053 */
#define CF_PSI2 {-2.44298364e-1f}
/* error 5.0e-7 */
#define CF_LOG {6.66667148e-1f, 3.99785845e-1f, 2.9970014e-1f}
/* error 6.5e-8 */
#define CF_EXP {5.0e-1f, 1.66665767e-1f, 4.16665542e-2f, 8.36323288e-3f, 1.39262508e-3f}
/* error 3.0e-8 */
#define CF_LOG2 {2.88539129f, 9.61469821e-1f, 5.9900736e-1f}
/* error 9.2e-8 */
#define CF_EXP2 {6.93146977e-1f, 2.40222418e-1f, 5.55073399e-2f, 9.6715339e-3f, 1.32647018e-3f}
#else
#define CF_SHIFT 6
/* error 1.2e-15 */
#define CF_PSI0 {4.1666666666665478e-2, -7.2916666631349611e-3, 3.8442443049313777e-3, -4.1337947256181144e-3, 7.5322963753000737e-3, -1.9723059211558082e-2, 4.8903082616307286e-2}
/* error 3.3e-8 */
#define CF_PSI1 {-8.3333299770512584e-2, 2.9148318486344034e-2, -2.1551193610924713e-2}
/* error 2.0e-5 */
#define CF_PSI2 {-2.4997919050374496e-1, 1.4076015536179578e-1}
/* error 3.0e-15 */
#define CF_LOG {6.6666666666666954e-1, 3.999999999930439e-1, 2.8571428846389254e-1, 2.2222181541289437e-1, 1.8184676095564314e-1, 1.5282102526722449e-1, 1.5132965194273114e-1}
/* error 1.1e-16 */
#define CF_EXP {5.000000000000001e-1, 1.6666666666666667e-1, 4.1666666666623821e-2, 8.3333333333300382e-3, 1.3888888917367081e-3, 1.9841269863171556e-4, 2.4801521057868205e-5, 2.7557268276905696e-6, 2.7620201591031549e-7, 2.5100472505694996e-8}
/* error 4.4e-17 */
#define CF_LOG2 {2.8853900817779306, 9.6179669392117388e-1, 5.7707801810773477e-1, 4.1219830146087427e-1, 3.2062209677468049e-1, 2.6128875912455453e-1, 2.4454483468580546e-1}
/* error 3.4e-18 */
#define CF_EXP2 {6.9314718055994533e-1, 2.4022650695910131e-1, 5.550410866482008e-2, 9.6181291075940659e-3, 1.3333558146775202e-3, 1.5403530457187538e-4, 1.525273349272328e-5, 1.3215435241613372e-6, 1.0178199677131271e-7, 7.0737907125909287e-9, 4.4347646427257383e-10}
#endif
